//! The demo's two systems on loopback, and the scratch project that connects them.
//!
//! Both systems are real servers reached over HTTP like any other; nothing of the demo is known to the host, the modules
//! or the language.

mod crm;
mod tracker;

use std::{fs, io, net::SocketAddr, path::Path};

use axum::Router;
use tokio::{net::TcpListener, task::JoinHandle};

pub use crm::{Company, Crm};
pub use tracker::{Issue, TOKEN, Tracker};

const MOVEMENT: &str = include_str!("../examples/triage/movements/triage.mvt");
const MODULE: &str = include_str!("../examples/triage/modules/acme_crm.toml");

/// The two systems, running until this is dropped.
#[derive(Debug)]
pub struct Systems {
    pub crm: Crm,
    pub tracker: Tracker,
    pub crm_address: SocketAddr,
    pub tracker_address: SocketAddr,
    tasks: [JoinHandle<()>; 2],
}

impl Systems {
    /// Starts both on free ports of 127.0.0.1.
    ///
    /// # Errors
    /// The port could not be opened.
    pub async fn start() -> io::Result<Self> {
        let (crm, tracker) = (Crm::default(), Tracker::default());
        let (crm_address, crm_task) = serve(crm.router()).await?;
        let (tracker_address, tracker_task) = serve(tracker.router()).await?;
        Ok(Self { crm, tracker, crm_address, tracker_address, tasks: [crm_task, tracker_task] })
    }

    /// The CRM's base URL.
    #[must_use]
    pub fn crm_url(&self) -> String {
        format!("http://{}/api", self.crm_address)
    }

    /// The tracker's MCP endpoint.
    #[must_use]
    pub fn tracker_url(&self) -> String {
        format!("http://{}/mcp", self.tracker_address)
    }
}

impl Drop for Systems {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

async fn serve(router: Router) -> io::Result<(SocketAddr, JoinHandle<()>)> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let address = listener.local_addr()?;
    let task = tokio::spawn(async move {
        if let Err(failure) = axum::serve(listener, router).await {
            tracing::error!("a demo system stopped: {failure}");
        }
    });
    Ok((address, task))
}

/// Writes the triage project into `dir`, which must exist: project file, movement, module. Credentials are not part of it.
///
/// # Errors
/// A file could not be written.
pub fn write_project(dir: &Path) -> io::Result<()> {
    fs::create_dir_all(dir.join("modules"))?;
    fs::create_dir_all(dir.join("movements"))?;
    fs::write(dir.join("listen-fire.toml"), PROJECT)?;
    fs::write(dir.join("movements/triage.mvt"), MOVEMENT)?;
    fs::write(dir.join("modules/acme_crm.toml"), MODULE)
}

const PROJECT: &str = include_str!("../examples/triage/listen-fire.toml");
