//! A file that a record holds can be followed: its bytes are those that were told of, and never more than allowed.

use lf_module::{FieldType, File, Read, Record, TypeShape, call::Origin};

use super::{Kind, Trial};

pub(super) async fn check(trial: &mut Trial<'_>, kind: &Kind, shape: &TypeShape) {
    let is_file = |ty: &FieldType| match ty {
        FieldType::File => true,
        FieldType::List(item) => **item == FieldType::File,
        FieldType::Text
        | FieldType::Number
        | FieldType::Boolean
        | FieldType::Date
        | FieldType::Datetime
        | FieldType::Duration
        | FieldType::Json
        | FieldType::Choice(_) => false,
    };
    if !shape.readable || !shape.fields.iter().any(|field| field.readable && is_file(&field.ty)) {
        return;
    }
    let name = &shape.name;
    let read = Read { ty: name.clone(), origin: Origin::Root, pins: kind.pins.clone(), page: None };
    let page = match trial.connection.read(&read, &trial.call()).await {
        Ok(page) => page,
        Err(error) => return trial.report.promise(format!("the files of `{name}` are found"), Err(error.message)),
    };
    let files: Vec<File> = page.records.iter().flat_map(|landed| of(&landed.fields)).collect();
    if files.is_empty() {
        trial.report.untried(format!("the files of `{name}`"), "no record of the first page has one");
        return;
    }
    for file in files {
        let kept = followed(trial, &file).await;
        trial.report.promise(format!("{} of a `{name}` is what it was told to be", file.called()), kept);
    }
}

fn of(fields: &Record) -> Vec<File> {
    fields.iter().flat_map(|(_, value)| value.files()).map(|file| file.as_ref().clone()).collect()
}

async fn followed(trial: &Trial<'_>, file: &File) -> Result<(), String> {
    if file.bytes.is_some() {
        return Err("a read came with its bytes".to_owned());
    }
    let size = usize::try_from(file.size).map_err(|_| "it is larger than anything".to_owned())?;
    let bytes = trial.connection.bytes(file, size, &trial.call()).await.map_err(|error| error.message)?;
    let bytes = bytes.ok_or("it is not there")?;
    if !file.had(&bytes) {
        return Err(format!("{} bytes came, which are others than were told of", bytes.len()));
    }
    let Some(less) = size.checked_sub(1) else { return Ok(()) };
    match trial.connection.bytes(file, less, &trial.call()).await {
        Err(error) if error.kind == lf_module::Kind::Limit => Ok(()),
        Err(error) => Err(format!("more than is allowed is not refused as such: {}", error.message)),
        Ok(_) => Err(format!("{size} bytes came where {less} are allowed")),
    }
}
