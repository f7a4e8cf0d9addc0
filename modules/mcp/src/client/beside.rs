//! The stream beside a session's requests, on which a server asks what it asks. It is opened only where somebody
//! answers: a movement answers nothing, and is told nothing there that it needs.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use http::StatusCode;
use lf_transport::Sends;

use crate::{
    attempt::{self, Envelope, Wire},
    era::Era,
    message,
    session::Session,
    stream::EventStream,
};

/// The wait before the stream is opened again.
const AGAIN: Duration = Duration::from_secs(1);

fn envelope(session: &Session) -> Envelope<'_> {
    Envelope { era: Era::Legacy, session: Some(session), sends: Sends::Write, extra: &[], until: None }
}

/// Answers what comes, as long as the session is there.
pub(super) async fn answer(wire: Arc<Wire>, session: Weak<Session>) {
    loop {
        let opened = match session.upgrade() {
            Some(session) => wire.get(None, envelope(&session)).await,
            None => return,
        };
        match opened {
            Ok(opened) if opened.status.is_success() && attempt::is_stream(&opened.headers) => {
                follow(&wire, &session, EventStream::new(opened.body)).await;
            }
            Ok(opened) if matches!(opened.status, StatusCode::METHOD_NOT_ALLOWED | StatusCode::NOT_FOUND) => return,
            Ok(_) | Err(_) => {}
        }
        wire.ports.clock.sleep(AGAIN).await;
    }
}

async fn follow(wire: &Wire, session: &Weak<Session>, mut stream: EventStream) {
    let mut answered = 0;
    while let Ok(Some(event)) = stream.next().await {
        let Some(session) = session.upgrade() else { return };
        let messages = event.data.and_then(|data| message::parse(data.as_bytes()).ok()).unwrap_or_default();
        // No request is under way on this stream, so no answer is looked for.
        let _none = wire.hear(u64::MAX, messages, event.id.as_deref(), envelope(&session), &mut answered).await;
    }
}
