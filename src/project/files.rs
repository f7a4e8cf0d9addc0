//! Reading the project's files, bounded; and writing one whole or not at all.

use std::{
    collections::BTreeSet,
    fs,
    io::{Read as _, Write as _},
    path::{Path, PathBuf},
};

use super::ProjectError;

/// The largest file that is read: far above any program that a person writes.
pub const LARGEST: u64 = 4 << 20;
/// The most movement files of one project.
pub const MOST: usize = 10_000;
/// How deep folders are searched.
const DEEPEST: usize = 32;

/// A text file, whole.
///
/// # Errors
/// It is not there, too large, or no text.
pub fn read(path: &Path) -> Result<String, ProjectError> {
    let failed = |why| ProjectError::io("read", path, why);
    let file = fs::File::open(path).map_err(failed)?;
    let mut bytes = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > LARGEST {
        return Err(failed(std::io::Error::other(format!("larger than {} MiB", LARGEST >> 20))));
    }
    String::from_utf8(bytes).map_err(|why| {
        let (good, _) = why.as_bytes().split_at(why.utf8_error().valid_up_to());
        let line = good.iter().filter(|byte| **byte == b'\n').count() + 1;
        failed(std::io::Error::other(format!("line {line} is not UTF-8 text; save it as UTF-8")))
    })
}

/// Replaces a file: the new text is on disk before it takes the name, so that a reader sees the old or the new.
///
/// # Errors
/// It cannot be written.
pub fn replace(path: &Path, text: &str) -> Result<(), ProjectError> {
    let failed = |why| ProjectError::io("write", path, why);
    // A link stays a link, and a file keeps who may read it.
    let path = &path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let folder = path.parent().unwrap_or(Path::new("."));
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let beside = folder.join(format!(".{name}.{}", std::process::id()));
    let written = fs::File::create(&beside).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        if let Ok(present) = fs::metadata(path) {
            file.set_permissions(present.permissions())?;
        }
        file.sync_all()
    });
    if let Err(why) = written.and_then(|()| fs::rename(&beside, path)) {
        // The half-written file is of no use to anybody; that it stays is no second error.
        drop(fs::remove_file(&beside));
        return Err(failed(why));
    }
    Ok(())
}

/// Every `.mvt` file under a folder, sorted. Hidden folders, `target` and `node_modules` are passed over; a link to a
/// folder is not followed twice.
///
/// # Errors
/// A folder cannot be read, or there are too many files.
pub fn movements(folder: &Path) -> Result<Vec<PathBuf>, ProjectError> {
    let mut found = BTreeSet::new();
    let mut seen = BTreeSet::new();
    let mut open = vec![(folder.to_owned(), 0)];
    while let Some((folder, depth)) = open.pop() {
        let real = folder.canonicalize().map_err(|why| ProjectError::io("look into", &folder, why))?;
        if depth > DEEPEST || !seen.insert(real) {
            continue;
        }
        let entries = fs::read_dir(&folder).map_err(|why| ProjectError::io("look into", &folder, why))?;
        for entry in entries {
            let path = entry.map_err(|why| ProjectError::io("look into", &folder, why))?.path();
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            if name.starts_with('.') || name == "target" || name == "node_modules" {
                continue;
            }
            if path.is_dir() {
                open.push((path, depth + 1));
            } else if path.extension().is_some_and(|extension| extension == "mvt") && path.is_file() {
                found.insert(path);
                if found.len() > MOST {
                    return Err(ProjectError::Missing(format!("more than {MOST} movement files; name those to check")));
                }
            }
        }
    }
    Ok(found.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_text_is_refused_with_its_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bad.mvt");
        fs::write(&path, b"one\ntwo \xff").unwrap();
        let error = read(&path).unwrap_err().to_string();
        assert!(error.ends_with("line 2 is not UTF-8 text; save it as UTF-8"), "{error}");
        // Cut at the limit, a letter of two bytes must not look like bytes that are no text.
        fs::write(&path, "é".repeat(usize::try_from(LARGEST).unwrap())).unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("larger than"));
    }
}
