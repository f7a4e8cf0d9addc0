//! One exchange: what is sent, and what comes back, bounded in time and size.

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use url::Url;

use crate::{
    client::Client,
    failure::{Failure, Phase},
    guard,
    timer::{Bounds, Timer},
};

/// The largest body of a good answer.
pub const LARGEST_BODY: usize = 16 << 20;
/// As much of an error's text as is read.
pub const LARGEST_ERROR: usize = 64 << 10;

/// What a request may do at the system; it decides how it is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sends {
    /// Nothing changes there: connections are pooled.
    Safe,
    /// Something may change there: it goes over a connection of its own. A pooled one that the server
    /// has just closed would leave open whether the request arrived.
    Write,
}

/// One request.
#[derive(Debug, Clone)]
pub struct Request {
    /// The method.
    pub method: Method,
    /// The whole URL.
    pub url: Url,
    /// The headers. Secrets among them are made by [`secret_header`].
    pub headers: HeaderMap,
    /// The body, if there is one.
    pub body: Option<Bytes>,
    /// What it may do.
    pub sends: Sends,
}

/// The head of an answer, with its body still to come.
#[derive(Debug)]
pub struct Opened {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Body,
}

/// A whole answer. The body of an error status is whatever of it could be read.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

/// A body that arrives.
#[derive(Debug)]
pub struct Body {
    response: reqwest::Response,
    timer: Timer,
}

impl Body {
    /// The next piece; `None` at the end.
    ///
    /// # Errors
    /// [`Failure::Timeout`] or [`Failure::Lost`].
    pub async fn next(&mut self) -> Result<Option<Bytes>, Failure> {
        let piece = self.timer.within(Phase::Gap, self.response.chunk()).await?;
        piece.map_err(|error| Failure::of(&error))
    }

    /// All that is left.
    ///
    /// # Errors
    /// As [`Self::next`], and [`Failure::TooLarge`] beyond `limit` bytes.
    pub async fn all(mut self, limit: usize) -> Result<Bytes, Failure> {
        let fits = |length: usize| if length > limit { Err(Failure::TooLarge(limit)) } else { Ok(()) };
        let promised = self.response.content_length().and_then(|length| usize::try_from(length).ok());
        fits(promised.unwrap_or_default())?;
        let first = self.next().await?.unwrap_or_default();
        fits(first.len())?;
        // Most answers come in one piece, which is as good as a copy of it.
        if promised == Some(first.len()) {
            return Ok(first);
        }
        let Some(second) = self.next().await? else { return Ok(first) };
        let mut whole = BytesMut::with_capacity(promised.unwrap_or_default());
        whole.extend_from_slice(&first);
        let mut next = Some(second);
        while let Some(piece) = next {
            fits(whole.len() + piece.len())?;
            whole.extend_from_slice(&piece);
            next = self.next().await?;
        }
        Ok(whole.freeze())
    }

    /// As much as arrives in order, at most `limit` bytes. For the text of an error: its status is known
    /// already, and a body that breaks must not hide it.
    pub async fn some(mut self, limit: usize) -> Bytes {
        let mut whole = BytesMut::new();
        while let Ok(Some(piece)) = self.next().await {
            let room = limit - whole.len();
            whole.extend_from_slice(piece.get(..room.min(piece.len())).unwrap_or_default());
            if whole.len() == limit {
                break;
            }
        }
        whole.freeze()
    }
}

impl Client {
    /// Sends `request` and waits for the head of the answer.
    ///
    /// # Errors
    /// Any [`Failure`].
    pub async fn open(&self, request: Request, bounds: &Bounds) -> Result<Opened, Failure> {
        let timer = Timer::start(self.clock(), bounds);
        guard::literal(&request.url, self.options().reach()).map_err(Failure::Blocked)?;
        let client = self.pick(request.sends)?;
        let Request { method, url, headers, body, sends: _ } = request;
        // The library makes a user in the URL a header; one of our own counts before it.
        let mut request = client.request(method, url).build().map_err(|error| Failure::of(&error))?;
        let of_url = std::mem::replace(request.headers_mut(), headers);
        if let Some(user) = of_url.get(header::AUTHORIZATION) {
            request.headers_mut().entry(header::AUTHORIZATION).or_insert_with(|| user.clone());
        }
        *request.body_mut() = body.map(reqwest::Body::from);
        let response = timer.within(Phase::FirstByte, client.execute(request)).await?;
        let mut response = response.map_err(|error| Failure::of(&error))?;
        let headers = std::mem::take(response.headers_mut());
        Ok(Opened { status: response.status(), headers, body: Body { response, timer } })
    }

    /// Sends `request` and reads the whole answer.
    ///
    /// # Errors
    /// Any [`Failure`].
    pub async fn exchange(&self, request: Request, bounds: &Bounds) -> Result<Answer, Failure> {
        let Opened { status, headers, body } = self.open(request, bounds).await?;
        let body = if status.is_success() { body.all(LARGEST_BODY).await? } else { body.some(LARGEST_ERROR).await };
        Ok(Answer { status, headers, body })
    }
}

/// A header that holds a secret: it does not print, and is not compressed with others.
///
/// # Errors
/// [`Failure::Unsendable`] if `text` cannot stand in a header.
pub fn secret_header(text: &str) -> Result<HeaderValue, Failure> {
    let mut value = HeaderValue::from_str(text)
        .map_err(|_| Failure::Unsendable("the secret holds characters that cannot stand in a header".to_owned()))?;
    value.set_sensitive(true);
    Ok(value)
}
