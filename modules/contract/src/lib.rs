//! The contract between listen-fire and the systems it speaks to.
//!
//! A *module* is fixed code that knows one kind of system. A *connection* is data (where, and which
//! credential) that a module turns into something that can describe itself, be read, be written and
//! be listened to. This crate holds the traits and the plain data of that border and nothing else:
//! no protocol, no store, no plan, no run. A module sees this crate alone; the host sees modules
//! through it alone.
//!
//! Read in this order: [`value`], [`schema`], [`call`], [`error`], [`module`], [`connection`].
//!
//! # How to write a module
//!
//! 1. **[`Module`]**: say what it is called and which credentials and settings it takes ([`Manifest`]); make a
//!    [`Connection`] of data without sending anything.
//! 2. **[`Connection::describe`]**: the types, their fields, and what may be done with each. A promise that is not
//!    made here is a call that never comes; one that is made is checked by the conformance suite.
//! 3. **[`Connection::read`]**: one page at a time, with a cursor of your own making. `get` answers `None` for
//!    what is not there; `find` compares exactly.
//! 4. **[`Connection::write`]** and **[`Connection::repeat`]**: the one hard question is what is known after a
//!    failure. [`CallError::maybe_acted`] unless the system certainly did nothing; [`Repeat::Harmless`] only if a
//!    second sending changes nothing.
//! 5. **[`Connection::bytes`]**, only where a field is a [`File`]: what was read is a handle, and this follows it.
//! 6. **[`Connection::listen`]**: a [`Source`] whose `next` waits for changes. It holds no truth: everything needed
//!    to go on after a crash is in the [`Cursor`] of the last stored batch.
//! 7. **Errors**: choose the [`Kind`] by what the host should do next, and write one sentence that says what was
//!    asked and what came back. Time, chance and the shared hold come from [`Ports`]; never from the process.
//!
//! A whole module, for a shelf of books that lives in memory:
//!
//! ```
//! use std::sync::{Arc, Mutex};
//!
//! use async_trait::async_trait;
//! use lf_module::{
//!     Batch, Call, CallError, Connection, Description, Event, Field, FieldType, Key, Kind, Landed, Listen, Manifest,
//!     Module, Page, Ports, Read, Record, Repeat, Source, Target, TypeShape, Value, Write, Written,
//!     call::Origin, schema::{How, Listening},
//! };
//! use smol_str::SmolStr;
//!
//! #[derive(Debug)]
//! struct Shelf(Manifest);
//!
//! impl Module for Shelf {
//!     fn manifest(&self) -> &Manifest {
//!         &self.0
//!     }
//!     fn connect(&self, target: Target) -> Result<Arc<dyn Connection>, CallError> {
//!         Ok(Arc::new(Books { titles: Arc::default(), ports: target.ports }))
//!     }
//! }
//!
//! #[derive(Debug)]
//! struct Books {
//!     titles: Arc<Mutex<Vec<SmolStr>>>,
//!     ports: Ports,
//! }
//!
//! fn book(title: &SmolStr) -> Landed {
//!     let fields = Record::from_iter([("title", Value::Text(title.clone()))]);
//!     Landed { key: Some(Key(title.clone())), version: None, fields }
//! }
//!
//! impl Books {
//!     fn all(&self) -> Vec<Landed> {
//!         self.titles.lock().map(|titles| titles.iter().map(book).collect()).unwrap_or_default()
//!     }
//! }
//!
//! #[async_trait]
//! impl Connection for Books {
//!     async fn describe(&self, _: &Call) -> Result<Description, CallError> {
//!         let title = Field { required: true, writable: true, ..Field::readable("title", FieldType::Text) };
//!         let book = TypeShape {
//!             name: "Book".into(),
//!             key: Some("title".into()),
//!             fields: vec![title],
//!             readable: true,
//!             writable: true,
//!             listenable: Some(Listening { how: How::Poll, deletions: true, every: None, pins: vec![] }),
//!             find_by: vec![vec!["title".into()]],
//!             create_repeat: Repeat::Harmless,
//!             ..TypeShape::default()
//!         };
//!         Ok(Description { types: vec![book], ..Description::default() })
//!     }
//!     async fn raw(&self, _: &Call) -> Result<String, CallError> {
//!         Ok("a shelf".into())
//!     }
//!     async fn read(&self, _: &Read, _: &Call) -> Result<Page, CallError> {
//!         Ok(Page { records: self.all(), next: None })
//!     }
//!     async fn get(&self, _: &SmolStr, key: &Key, _: &Call) -> Result<Option<Landed>, CallError> {
//!         Ok(self.all().into_iter().find(|landed| landed.key.as_ref() == Some(key)))
//!     }
//!     async fn find(&self, _: &SmolStr, by: &Record, _: &Call) -> Result<Vec<Landed>, CallError> {
//!         let same = |landed: &Landed| by.iter().all(|(name, value)| landed.fields.get(name) == Some(value));
//!         Ok(self.all().into_iter().filter(same).collect())
//!     }
//!     async fn write(&self, write: &Write, _: &Call) -> Result<Written, CallError> {
//!         let Write::Create { fields, .. } = write else { return Err(CallError::refused("a book never changes")) };
//!         let Some(Value::Text(title)) = fields.get("title") else {
//!             return Err(CallError { field: Some("title".into()), ..CallError::refused("a book needs a `title`") });
//!         };
//!         let mut titles = self.titles.lock().map_err(|_| CallError::new(Kind::Limit, "the shelf broke"))?;
//!         let created = !titles.contains(title);
//!         if created {
//!             titles.push(title.clone());
//!         }
//!         Ok(Written { created, key: Some(Key(title.clone())), fields: fields.clone(), ..Written::default() })
//!     }
//!     fn repeat(&self, _: &Write) -> Repeat {
//!         Repeat::Harmless
//!     }
//!     fn listen(&self, listen: Listen) -> Result<Box<dyn Source>, CallError> {
//!         let books = Books { titles: self.titles.clone(), ports: self.ports.clone() };
//!         Ok(Box::new(Looks { books, listen, first: true }))
//!     }
//! }
//!
//! /// Looks at the whole shelf again and again; the host compares with what it saw before.
//! #[derive(Debug)]
//! struct Looks {
//!     books: Books,
//!     listen: Listen,
//!     first: bool,
//! }
//!
//! #[async_trait]
//! impl Source for Looks {
//!     async fn next(&mut self) -> Result<Batch, CallError> {
//!         if !self.first {
//!             self.books.ports.clock.sleep(self.listen.every).await;
//!         }
//!         self.first = false;
//!         let mut events: Vec<Event> = self.books.all().into_iter().map(Event::Listed).collect();
//!         events.push(Event::ListingEnded { complete: true });
//!         Ok(Batch { events, cursor: None })
//!     }
//! }
//! # use std::time::Duration;
//! # #[derive(Debug)]
//! # struct Lent;
//! # #[async_trait]
//! # impl lf_module::Clock for Lent {
//! #     fn now(&self) -> jiff::Timestamp { jiff::Timestamp::UNIX_EPOCH }
//! #     fn monotonic(&self) -> Duration { Duration::ZERO }
//! #     async fn sleep(&self, _: Duration) {}
//! # }
//! # impl lf_module::Random for Lent {
//! #     fn unit(&self) -> f64 { 0.5 }
//! # }
//! # #[async_trait]
//! # impl lf_module::Throttle for Lent {
//! #     async fn pass(&self, _: Duration) -> Result<(), CallError> { Ok(()) }
//! #     async fn report(&self, _: Duration, _: &str) {}
//! # }
//! # async fn use_it() -> Result<(), CallError> {
//! # let (clock, random, throttle) = (Arc::new(Lent), Arc::new(Lent), Arc::new(Lent));
//! # let ports = Ports { clock, random, throttle, notes: None, keeper: None };
//!
//! let target = Target { id: "shelf".into(), settings: Default::default(), credential: None, ports };
//! let shelf = Shelf(Manifest { name: "@lf/shelf".into(), ..Manifest::default() }).connect(target)?;
//! let call = Call { deadline: Duration::from_secs(5), idempotency: None };
//! let fields = Record::from_iter([("title", "Middlemarch".into())]);
//! let written = shelf.write(&Write::Create { ty: "Book".into(), origin: Origin::Root, fields }, &call).await?;
//! assert!(written.created);
//! assert!(shelf.get(&"Book".into(), &Key("Middlemarch".into()), &call).await?.is_some());
//! let every = Duration::from_secs(30);
//! let mut source = shelf.listen(Listen { ty: "Book".into(), pins: Record::new(), every, from: None })?;
//! let batch = source.next().await?;
//! assert!(matches!(batch.events.as_slice(), [Event::Listed(_), Event::ListingEnded { complete: true }]));
//! # Ok(())
//! # }
//! # fn main() -> Result<(), CallError> {
//! #     tokio::runtime::Builder::new_current_thread().build().expect("a runtime").block_on(use_it())
//! # }
//! ```
//!
//! Then run it through `lf_harness::conformance` in the module's own tests, and add one line to the host's list of
//! bundled modules.
#![warn(missing_docs)]
#![deny(clippy::disallowed_methods)]

pub mod call;
pub mod connection;
pub mod error;
pub mod file;
pub mod json;
pub mod module;
pub mod number;
pub mod ports;
pub mod retry;
pub mod schema;
pub mod secret;
pub mod value;

pub use call::{Batch, Call, Cursor, Event, Key, Landed, Listen, Page, Read, Repeat, Start, Tie, Write, Written};
pub use connection::{Connection, Source};
pub use error::{Acted, CallError, Kind};
pub use file::File;
pub use module::{Credential, CredentialKind, Manifest, Module, Target};
pub use number::Number;
pub use ports::{Clock, Keeper, Notes, Person, Ports, Random, Throttle};
pub use schema::{Description, Field, FieldType, TypeShape};
pub use secret::Secret;
pub use value::{Position, Record, Value};
