//! A body read as server-sent events.

use std::collections::VecDeque;

use lf_transport::{Body, Failure};

use crate::sse::{self, Event, Parser};

/// The longest stream that answers one request.
const LONGEST: usize = 2 * sse::LARGEST;

/// An event stream of which a part has been read.
#[derive(Debug)]
pub(crate) struct EventStream {
    /// `None` after the end.
    open: Option<(Body, Parser)>,
    ready: VecDeque<Event>,
    /// How many bytes have come.
    read: usize,
}

impl EventStream {
    pub(crate) fn new(body: Body) -> Self {
        Self { open: Some((body, Parser::default())), ready: VecDeque::new(), read: 0 }
    }

    /// The next piece of the stream, with the events that it completes: none, where it was a comment. `None`
    /// at the end. What stood before the end without its blank line is not among them: it was cut.
    pub(crate) async fn piece(&mut self) -> Result<Option<Vec<Event>>, Failure> {
        let Some((body, parser)) = &mut self.open else { return Ok(None) };
        match body.next().await? {
            Some(piece) => parser.feed(&piece).map(Some).map_err(|large| Failure::TooLarge(large.0)),
            None => {
                self.open = None;
                Ok(None)
            }
        }
    }

    /// The next event; `None` at the end. For a stream that answers one request: it may not go on for ever.
    pub(crate) async fn next(&mut self) -> Result<Option<Event>, Failure> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(Some(event));
            }
            let Some((body, parser)) = &mut self.open else { return Ok(None) };
            match body.next().await? {
                Some(piece) => {
                    self.read += piece.len();
                    if self.read > LONGEST {
                        return Err(Failure::TooLarge(LONGEST));
                    }
                    self.ready.extend(parser.feed(&piece).map_err(|large| Failure::TooLarge(large.0))?);
                }
                None => {
                    let last = self.open.take().and_then(|(_, parser)| parser.finish());
                    self.ready.extend(last);
                }
            }
        }
    }
}
