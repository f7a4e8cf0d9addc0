//! The projects that the runner runs, and what their stores say.

use std::{fs, net::SocketAddr, path::Path, time::Duration};

use axum::{Router, extract::Request, middleware};
use listen_fire::{
    demo,
    store::{
        Filter, Inbox as _, Ledger as _, Run, State,
        sqlite::{Durability, SqliteStore},
    },
};
use tempfile::TempDir;
use tokio::{net::TcpListener, sync::mpsc};

/// How often the store is looked at, and how long at most.
const LOOK: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(300));

/// No name is part of another: the movement searches for it.
pub(super) fn company(number: usize) -> String {
    format!("Company {number:06}")
}

pub(super) struct Project(TempDir);

impl Project {
    /// The demo's; `options` are its listen's, with a space before them.
    pub(super) fn triage(options: &str) -> Self {
        // On the disk that the project lies on: some machines keep their temporary folder in memory.
        let project = Self(tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap());
        demo::write_project(project.path()).unwrap();
        if !options.is_empty() {
            let path = project.path().join("movements/triage.mvt");
            let text = fs::read_to_string(&path).unwrap();
            let with = text.replace("-[:Company]-> fire", &format!("-[:Company]->{options} fire"));
            assert_ne!(text, with);
            fs::write(&path, with).unwrap();
        }
        project
    }

    /// So many movements, each a file with a listen and a function of its own.
    pub(super) fn movements(count: usize) -> Self {
        let project = Self::triage("");
        let folder = project.path().join("movements");
        let text = fs::read_to_string(folder.join("triage.mvt")).unwrap();
        fs::remove_file(folder.join("triage.mvt")).unwrap();
        for number in 0..count {
            let name = format!("triage{number}");
            let text = text.replace("triage", &name).replace("listen to", &format!("listen as \"l{number}\" to"));
            fs::write(folder.join(format!("{name}.mvt")), text).unwrap();
        }
        project
    }

    pub(super) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Waits until so many listens have taken their baseline.
    pub(super) async fn baseline(&self, listens: usize) {
        self.wait(async |store| {
            let mut placed = 0;
            for listen in store.listens().await.unwrap() {
                let position = store.position(&listen).await.unwrap();
                placed += usize::from(position.is_some_and(|position| position.baseline_done));
            }
            (placed >= listens).then_some(())
        })
        .await;
    }

    /// Waits until so many runs are done, and gives them.
    pub(super) async fn done(&self, runs: usize) -> Vec<Run> {
        self.wait(async |store| {
            let counts = store.counts().await.unwrap();
            let of = |wanted| counts.iter().filter(|((_, state), _)| *state == wanted).map(|(_, count)| count).sum();
            let (done, dead, unsure): (u64, u64, u64) = (of(State::Done), of(State::Dead), of(State::Unsure));
            assert_eq!((dead, unsure), (0, 0));
            if done < runs as u64 {
                return None;
            }
            let filter = Filter { states: vec![State::Done], ..Filter::default() };
            Some(store.list(&filter).await.unwrap())
        })
        .await
    }

    async fn wait<T>(&self, enough: impl AsyncFn(&SqliteStore) -> Option<T>) -> T {
        let path = self.path().join(".listen-fire/state.db");
        let look = async {
            while !path.exists() {
                tokio::time::sleep(LOOK.0).await;
            }
            let store = SqliteStore::open(&path, Durability::Full).await.unwrap();
            loop {
                if let Some(found) = enough(&store).await {
                    return found;
                }
                tokio::time::sleep(LOOK.0).await;
            }
        };
        tokio::time::timeout(LOOK.1, look).await.unwrap()
    }
}

/// Serves a system on a port of its own; tells when each request came.
pub(super) async fn watched(router: Router) -> (SocketAddr, mpsc::UnboundedReceiver<std::time::Instant>) {
    let (tell, seen) = mpsc::unbounded_channel();
    let router = router.layer(middleware::from_fn(move |request: Request, next: middleware::Next| {
        // Nobody asks for more than the first.
        let _heard = tell.send(std::time::Instant::now()).is_ok();
        next.run(request)
    }));
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    (address, seen)
}
