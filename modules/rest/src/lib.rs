//! Project modules: a system with a REST interface, declared by one file and no code.
//!
//! `modules/NAME.toml` of a project becomes the module `#NAME`; README.md beside this crate is the
//! reference of the file. The flow: [`RestModule::load`] reads the text to a proven model, with problems
//! that have a place (`file`); a connection builds requests from it (`request`), sends them through the
//! one retry driver (`exchange`), and reads answers as records (`record`), page by page (`paging`) or as a
//! source of changes (`source`). Nothing in a file starts a process or chooses code.

#![deny(clippy::disallowed_methods)]

mod connection;
mod exchange;
mod file;
mod files;
mod model;
mod paging;
mod pointer;
mod problem;
mod record;
mod request;
mod schema;
mod source;
mod system;
mod template;
mod writing;

use std::sync::Arc;

use lf_module::{CallError, Connection, Manifest, Module, Target};

pub use problem::{Problem, Severity};

/// The module that a file declares.
#[derive(Debug)]
pub struct RestModule {
    manifest: Manifest,
    model: Arc<model::Model>,
    text: Arc<str>,
}

impl RestModule {
    /// Reads the file of the module `name` (`acme_crm`, which a movement calls `#acme_crm`). The module is
    /// there if no problem is an error.
    #[must_use]
    pub fn load(name: &str, toml_text: &str) -> (Option<Self>, Vec<Problem>) {
        let (model, problems) = file::read(toml_text);
        let module = model.map(|model| {
            let manifest = Manifest {
                name: format!("#{name}").into(),
                doc: model.doc.clone(),
                credentials: model.credentials.iter().map(|signed| signed.kind.clone()).collect(),
                credential_optional: model.credential_optional || model.credentials.is_empty(),
                settings: model.settings.clone(),
            };
            Self { manifest, model: Arc::new(model), text: toml_text.into() }
        });
        (module, problems)
    }
}

impl Module for RestModule {
    fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    fn connect(&self, target: Target) -> Result<Arc<dyn Connection>, CallError> {
        let system = system::System::new(self.manifest.name.clone(), self.model.clone(), target)?;
        Ok(Arc::new(connection::Rest { system: Arc::new(system), text: self.text.clone() }))
    }
}

/// What `fuzz/` gives any text to; nothing else may.
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing {
    /// Reads a module's file.
    ///
    /// # Panics
    /// If a fault's place is not in the text, or something is wrong and nothing is said.
    #[expect(clippy::panic, reason = "this is how a fuzzer is told")]
    pub fn module_file(text: &str) {
        let (model, problems) = crate::file::read(text);
        if let Some(problem) = problems.iter().find(|problem| text.get(problem.span.clone()).is_none()) {
            panic!("{problem:?} is not in the text");
        }
        if model.is_none() && problems.is_empty() {
            panic!("nothing was said");
        }
    }
}
