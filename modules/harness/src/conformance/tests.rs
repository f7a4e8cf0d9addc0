//! The suite finds what it is there to find: a module in memory, with one flaw at a time.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use lf_module::{
    Batch, Call, CallError, Connection, Cursor, Description, Event, Field, FieldType, Key, Landed, Listen, Page, Ports,
    Read, Record, Repeat, Source, Tie, TypeShape, Value, Write, Written,
    call::Origin,
    schema::{Count, Edge, How, Listening},
};
use smol_str::SmolStr;

use super::{Kind, Subject, run};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flaw {
    None,
    NamesAnUnknownKey,
    ReadsWithoutEnd,
    LosesAPage,
    LacksAField,
    GetsWhatIsNotThere,
    FindsLoosely,
    ForgetsAnUpdate,
    RefusesASecondDelete,
    LinksTwice,
    DeletesUnpromised,
    ResumesFromTheStart,
    LosesWhatIsDropped,
    NeverSeesAChange,
    ShowsItsSecret,
    OutlastsItsDeadline,
}

#[derive(Clone)]
struct Shelf {
    books: Arc<Mutex<BTreeMap<String, String>>>,
    sequels: Arc<Mutex<Vec<(Key, Key)>>>,
    ports: Ports,
    flaw: Flaw,
}

impl fmt::Debug for Shelf {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(if self.flaw == Flaw::ShowsItsSecret { "Shelf(opensesame)" } else { "Shelf" })
    }
}

impl Shelf {
    fn book(&self, id: &str, title: &str) -> Landed {
        let mut fields = Record::from_iter([("id", Value::text(id))]);
        if self.flaw != Flaw::LacksAField {
            fields.set("title", Value::text(title));
        }
        Landed { key: Some(Key(id.into())), version: None, fields }
    }

    fn all(&self) -> Vec<Landed> {
        self.books.lock().unwrap().iter().map(|(id, title)| self.book(id, title)).collect()
    }

    fn from(&self, at: usize) -> (Vec<Landed>, Option<usize>) {
        let records: Vec<Landed> = self.all().into_iter().skip(at).take(2).collect();
        let more = at + 2 < self.books.lock().unwrap().len();
        (records, more.then_some(at + 2))
    }
}

#[async_trait]
impl Connection for Shelf {
    async fn describe(&self, _: &Call) -> Result<Description, CallError> {
        let id = Field::readable("id", FieldType::Text);
        let title = Field { writable: true, required: true, ..Field::readable("title", FieldType::Text) };
        let book = TypeShape {
            name: "Book".into(),
            fields: vec![id, title],
            edges: vec![Edge { linkable: true, ..Edge::to("Sequels", "Book", Count::Many) }],
            key: Some(if self.flaw == Flaw::NamesAnUnknownKey { "isbn" } else { "id" }.into()),
            readable: true,
            writable: true,
            updatable: true,
            deletable: self.flaw != Flaw::DeletesUnpromised,
            listenable: Some(Listening { how: How::Poll, deletions: true, every: None, pins: vec![] }),
            find_by: vec![vec!["title".into()]],
            ..TypeShape::default()
        };
        Ok(Description { types: vec![book], ..Description::default() })
    }

    async fn raw(&self, _: &Call) -> Result<String, CallError> {
        Ok(String::new())
    }

    async fn read(&self, read: &Read, call: &Call) -> Result<Page, CallError> {
        if read.ty != "Book" {
            return Err(CallError::refused("no such type"));
        }
        if self.books.lock().unwrap().contains_key("hang") {
            let grace = if self.flaw == Flaw::OutlastsItsDeadline { 60 } else { 0 };
            hang(call.deadline.saturating_sub(self.ports.clock.monotonic()) + Duration::from_secs(grace)).await;
            return Err(CallError::passing("no answer").maybe_acted());
        }
        if let Origin::Record { ty: _, key, edge: _ } = &read.origin {
            let sequels = self.sequels.lock().unwrap();
            let to =
                |book: &Landed| sequels.iter().filter(|tie| tie.0 == *key && Some(&tie.1) == book.key.as_ref()).count();
            let records = self.all().into_iter().flat_map(|book| vec![book.clone(); to(&book)]).collect();
            return Ok(Page { records, next: None });
        }
        let at = read.page.as_ref().map_or(0, |cursor| cursor.0.parse().unwrap());
        let (mut records, next) = self.from(at);
        if self.flaw == Flaw::LosesAPage && at > 0 {
            records.clear();
        }
        let next = if self.flaw == Flaw::ReadsWithoutEnd { Some(at) } else { next };
        Ok(Page { records, next: next.map(|at| Cursor(at.to_string())) })
    }

    async fn get(&self, _: &SmolStr, key: &Key, _: &Call) -> Result<Option<Landed>, CallError> {
        let found = self.all().into_iter().find(|landed| landed.key.as_ref() == Some(key));
        Ok(found.or_else(|| (self.flaw == Flaw::GetsWhatIsNotThere).then(|| self.book(&key.0, "?"))))
    }

    async fn find(&self, _: &SmolStr, by: &Record, _: &Call) -> Result<Vec<Landed>, CallError> {
        let Some(wanted) = by.get("title").filter(|_| by.len() == 1) else {
            return Err(CallError::refused("only by title"));
        };
        let same = |landed: &Landed| match (landed.fields.get("title"), self.flaw) {
            (Some(Value::Text(found)), Flaw::FindsLoosely) => {
                wanted.as_text().is_some_and(|text| text.starts_with(found.as_str()))
            }
            (found, _) => found == Some(wanted),
        };
        Ok(self.all().into_iter().filter(same).collect())
    }

    async fn write(&self, write: &Write, call: &Call) -> Result<Written, CallError> {
        if self.books.lock().unwrap().contains_key("hang") {
            hang(call.deadline.saturating_sub(self.ports.clock.monotonic())).await;
            return Err(CallError::passing("no answer").maybe_acted());
        }
        let mut books = self.books.lock().unwrap();
        match write {
            Write::Create { ty: _, origin: _, fields } => {
                let id = format!("b{:03}", books.len() + 100);
                books.insert(id.clone(), fields.get("title").and_then(Value::as_text).unwrap().to_owned());
                Ok(Written { key: Some(Key(id.into())), created: true, ..Written::default() })
            }
            Write::Update { ty: _, key, fields } => {
                if let Some(title) =
                    fields.get("title").and_then(Value::as_text).filter(|_| self.flaw != Flaw::ForgetsAnUpdate)
                {
                    books.insert(key.0.to_string(), title.to_owned());
                }
                Ok(Written { key: Some(key.clone()), ..Written::default() })
            }
            Write::Delete { ty: _, key } => match books.remove(key.0.as_str()) {
                None if self.flaw == Flaw::RefusesASecondDelete => Err(CallError::refused("gone")),
                None | Some(_) => Ok(Written::default()),
            },
            Write::Link(Tie { ty: _, key, edge: _, to }) => {
                let (mut sequels, tie) = (self.sequels.lock().unwrap(), (key.clone(), to.clone()));
                if self.flaw == Flaw::LinksTwice || !sequels.contains(&tie) {
                    sequels.push(tie);
                }
                Ok(Written::default())
            }
            Write::Unlink(Tie { ty: _, key, edge: _, to }) => {
                self.sequels.lock().unwrap().retain(|tie| *tie != (key.clone(), to.clone()));
                Ok(Written::default())
            }
        }
    }

    fn repeat(&self, _: &Write) -> Repeat {
        Repeat::Never
    }

    fn listen(&self, listen: Listen) -> Result<Box<dyn Source>, CallError> {
        let from = listen.from.filter(|_| self.flaw != Flaw::ResumesFromTheStart);
        let at = from.map_or(0, |cursor| cursor.0.parse().unwrap());
        Ok(Box::new(Looks { shelf: self.clone(), at, looked: false }))
    }
}

#[derive(Debug)]
struct Looks {
    shelf: Shelf,
    at: usize,
    looked: bool,
}

#[async_trait]
impl Source for Looks {
    async fn next(&mut self) -> Result<Batch, CallError> {
        let (records, next) = self.shelf.from(self.at);
        if self.shelf.flaw == Flaw::LosesWhatIsDropped {
            self.at = next.unwrap_or(0);
        }
        hang(Duration::from_millis(1)).await;
        let mut events: Vec<Event> = records.into_iter().map(Event::Listed).collect();
        if self.shelf.flaw == Flaw::NeverSeesAChange && self.looked {
            events.clear();
        }
        if next.is_none() {
            events.push(Event::ListingEnded { complete: true });
            self.looked = true;
        }
        self.at = next.unwrap_or(0);
        Ok(Batch { events, cursor: Some(Cursor(self.at.to_string())) })
    }
}

async fn hang(length: Duration) {
    tokio::time::sleep(length).await;
}

/// What the suite says of a shelf with the flaw.
async fn broken(flaw: Flaw) -> Vec<String> {
    let shelf = move |books: &[&str]| {
        let books: BTreeMap<String, String> =
            books.iter().map(|id| ((*id).to_owned(), format!("Title {id}"))).collect();
        let books = Arc::new(Mutex::new(books));
        Box::new(move |ports| {
            let shelf: Arc<dyn Connection> =
                Arc::new(Shelf { books: books.clone(), sequels: Arc::default(), ports, flaw });
            Ok(shelf)
        })
    };
    let subject = Subject {
        connect: shelf(&["a1", "a2", "a3", "a4", "a5"]),
        hanging: Some(shelf(&["hang"])),
        writes_at_once: true,
        kinds: vec![Kind {
            ty: "Book".into(),
            pins: Record::new(),
            records: Some(5),
            missing: Some(Key("zz".into())),
            create: Some(Record::from_iter([("title", "New".into())])),
            update: Some(Record::from_iter([("title", "Newer".into())])),
        }],
        secrets: vec!["opensesame".into()],
    };
    run(&subject).await.broken
}

#[tokio::test]
async fn a_module_without_flaws_breaks_nothing() {
    assert_eq!(broken(Flaw::None).await, Vec::<String>::new());
}

#[tokio::test]
async fn each_flaw_is_found() {
    for (flaw, promise) in [
        (Flaw::NamesAnUnknownKey, "`Book` is described as a whole: the key `isbn` is no field"),
        (Flaw::ReadsWithoutEnd, "a read of `Book` ends and gives what is there"),
        (Flaw::LosesAPage, "a read of `Book` ends and gives what is there: 2 records, there are 5"),
        (Flaw::LacksAField, "a read of `Book` ends and gives what is there: `title` is promised and absent"),
        (Flaw::GetsWhatIsNotThere, "a `Book` that is not there is absent: there is one"),
        (
            Flaw::FindsLoosely,
            "`Book` is found by [\"title\"], exactly: something is found by a value that no record has",
        ),
        (Flaw::ForgetsAnUpdate, "an updated `Book` holds what was written"),
        (Flaw::RefusesASecondDelete, "deleting a `Book` that is gone is no error: gone"),
        (
            Flaw::LinksTwice,
            "`Sequels` of a `Book` is linked and unlinked, and twice is once: linked again, it is there 2 times",
        ),
        (Flaw::DeletesUnpromised, "deleting `Book` is refused: it was done"),
        (Flaw::ResumesFromTheStart, "a first listing of `Book` goes on where it was"),
        (Flaw::LosesWhatIsDropped, "a dropped wait for `Book` loses nothing"),
        (Flaw::ShowsItsSecret, "no secret is shown by an error or by `Debug`: `opensesame` was shown"),
        (Flaw::OutlastsItsDeadline, "a read on a hanging system ends by its deadline: it outlasts its deadline"),
        (Flaw::NeverSeesAChange, "a new `Book` is seen by who listens"),
    ] {
        let broken = broken(flaw).await;
        assert!(broken.iter().any(|what| what.starts_with(promise)), "{flaw:?}: {broken:#?}");
    }
}
