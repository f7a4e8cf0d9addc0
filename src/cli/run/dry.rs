//! The store of a dry run: a copy of what is there, so that it begins where a run would, and nothing of it stays.

use std::{fs, path::PathBuf, sync::Arc};

use crate::{
    cli::{
        exit::Failure,
        shell::{Opened, Shell},
    },
    store::{Filter, Order, State, Store, memory::MemoryStore},
};

/// The copy. Its folder goes with it.
#[derive(Debug)]
pub(super) struct Copy {
    pub(super) store: Arc<dyn Store>,
    folder: Option<PathBuf>,
}

impl Copy {
    /// Of the project's store as it is at this moment; where nothing was ever stored, an empty one.
    pub(super) async fn of(opened: &Opened, shell: &Shell) -> Result<Self, Failure> {
        let Some(file) = &opened.file else {
            return Ok(Self { store: Arc::new(MemoryStore::default()), folder: None });
        };
        let folder = std::env::temp_dir().join(format!("listen-fire-dry-{}", uuid::Uuid::now_v7().simple()));
        // Made before the copy, so that whatever is there of it goes.
        let mut copy = Self { store: Arc::new(MemoryStore::default()), folder: Some(folder.clone()) };
        copy.store = Arc::new(file.copy_to(&folder.join("state.db")).await?);
        let running = Filter { states: vec![State::Running], ..Filter::default() };
        let running = copy.store.list(&running).await?;
        for run in &running {
            copy.store.order(run.id, Order::Cancel, opened.connector.clock.now()).await?;
        }
        if !running.is_empty() {
            shell.output.note(&format!("left out, since a runner is at them: {} runs", running.len()));
        }
        Ok(copy)
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        // A folder that cannot be removed is left in the place for temporary ones.
        let _removed = self.folder.as_ref().is_some_and(|folder| fs::remove_dir_all(folder).is_ok());
    }
}
