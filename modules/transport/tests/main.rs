//! The client against real sockets: what it makes of each thing that a server can do.
#![expect(clippy::unwrap_used, reason = "a test that cannot set up should stop")]

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};
use lf_harness::{Reply, Server, Step, World, faults::Fault, server};
use lf_module::Clock as _;
use lf_transport::{Answer, Bounds, Client, Failure, Options, Phase, Request, Sends, Unreached};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

struct Stage {
    world: Arc<World>,
    client: Client,
    bounds: Bounds,
}

fn stage() -> Stage {
    let world = World::new(0.0);
    let bounds = Bounds {
        first_byte: Duration::from_secs(5),
        gap: Duration::from_secs(5),
        until: Some(world.monotonic() + Duration::from_secs(10)),
    };
    Stage { client: Client::new(Options::default(), world.clone()), world, bounds }
}

fn request(url: &str, sends: Sends) -> Request {
    Request {
        method: Method::POST,
        url: url.parse().unwrap(),
        headers: HeaderMap::new(),
        body: Some(Bytes::from_static(b"{}")),
        sends,
    }
}

impl Stage {
    fn server(&self, script: impl Fn() -> Reply + Send + Sync + 'static) -> Server {
        Server::start(self.world.clone(), move |_| script()).unwrap()
    }

    async fn send(&self, url: &str, sends: Sends) -> Result<Answer, Failure> {
        self.client.exchange(request(url, sends), &self.bounds).await
    }
}

#[tokio::test]
async fn an_answer_comes_whole() {
    let stage = stage();
    let server = stage.server(|| Reply::status(201).header("X-Seen", "yes").body("hello"));
    let answer = stage.send(&server.url("/a?b"), Sends::Safe).await.unwrap();
    assert_eq!((answer.status, &*answer.body), (StatusCode::CREATED, &b"hello"[..]));
    assert_eq!(answer.headers["x-seen"], "yes");
    let seen = server.received();
    assert_eq!((seen[0].path.as_str(), &*seen[0].body), ("/a?b", &b"{}"[..]));
}

#[tokio::test]
async fn a_user_in_the_url_signs_in_unless_a_header_does() {
    let stage = stage();
    let server = stage.server(|| Reply::status(200).body("x"));
    let url = server.url("/").replace("http://", "http://me:pass@");
    stage.send(&url, Sends::Safe).await.unwrap();
    let mut signed = request(&url, Sends::Safe);
    signed.headers.insert("authorization", "Bearer t".parse().unwrap());
    stage.client.exchange(signed, &stage.bounds).await.unwrap();
    let sent: Vec<_> = server.received().iter().map(|one| one.header("authorization").map(str::to_owned)).collect();
    assert_eq!(sent, [Some("Basic bWU6cGFzcw==".to_owned()), Some("Bearer t".to_owned())]);
}

#[tokio::test]
async fn nobody_there_is_never_connected() {
    let stage = stage();
    let refused = format!("http://127.0.0.1:{}/", server::unused_port().unwrap());
    for sends in [Sends::Safe, Sends::Write] {
        let failure = stage.send(&refused, sends).await.unwrap_err();
        assert!(matches!(failure, Failure::NeverConnected(Unreached::Refused, _)), "{failure:?}");
        let failure = stage.send("http://no-such-host.invalid/", sends).await.unwrap_err();
        assert!(matches!(failure, Failure::NeverConnected(Unreached::NameNotFound, _)), "{failure:?}");
    }
}

#[tokio::test]
async fn what_breaks_after_the_request_was_sent_is_lost() {
    for fault in [Fault::ResetBeforeHead, Fault::ClosedBeforeHead, Fault::ResetMidBody, Fault::CutBody] {
        for sends in [Sends::Safe, Sends::Write] {
            let stage = stage();
            let server = stage.server(move || fault.reply(b"{\"a\":1,\"b\":2}"));
            let failure = stage.send(&server.url("/"), sends).await.unwrap_err();
            assert!(matches!(failure, Failure::Lost(_)), "{fault:?}: {failure:?}");
            assert!(failure.may_have_arrived());
            assert_eq!(server.received().len(), 1, "{fault:?} is sent once");
        }
    }
}

#[tokio::test]
async fn a_cut_error_text_does_not_hide_its_status() {
    let stage = stage();
    let server = stage.server(|| Reply::status(503).header("Retry-After", "2").body("busy now").cut(4, Step::Reset));
    let answer = stage.send(&server.url("/"), Sends::Write).await.unwrap();
    assert_eq!((answer.status, &*answer.body), (StatusCode::SERVICE_UNAVAILABLE, &b"busy"[..]));
}

#[tokio::test]
async fn tls_to_a_server_without_it_is_a_tls_failure() {
    let stage = stage();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/", listener.local_addr().unwrap());
    let plain = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
        let mut hello = Vec::new();
        let _broken_off = stream.read_to_end(&mut hello).await;
    });
    let failure = stage.send(&url, Sends::Write).await.unwrap_err();
    plain.abort();
    assert!(matches!(failure, Failure::Tls(_)), "{failure:?}");
    assert!(!failure.may_have_arrived());
}

#[tokio::test]
async fn each_phase_has_its_bound() {
    let short = Duration::from_millis(150);
    let mut stage = stage();
    let silent = stage.server(Reply::silence);
    stage.bounds.first_byte = short;
    let failure = stage.send(&silent.url("/"), Sends::Safe).await.unwrap_err();
    assert_eq!(failure, Failure::Timeout(Phase::FirstByte));
    stage.bounds.first_byte = Duration::from_secs(5);

    let stalls = stage.server(|| Reply::status(200).body("0123456789").cut(5, Step::Silence));
    stage.bounds.gap = short;
    assert_eq!(stage.send(&stalls.url("/"), Sends::Safe).await.unwrap_err(), Failure::Timeout(Phase::Gap));
}

#[tokio::test]
async fn a_server_that_trickles_ends_at_the_total_deadline() {
    let mut stage = stage();
    let trickles = stage.server(|| Reply::status(200).body("x".repeat(600)).trickle(Duration::from_millis(50)));
    stage.bounds.until = Some(stage.world.monotonic() + Duration::from_millis(400));
    let started = Instant::now();
    assert_eq!(stage.send(&trickles.url("/"), Sends::Safe).await.unwrap_err(), Failure::Timeout(Phase::Whole));
    assert!(started.elapsed() < Duration::from_secs(3), "{:?}", started.elapsed());
}

#[tokio::test]
async fn a_body_without_end_is_cut_off() {
    let stage = stage();
    let endless = stage.server(|| Reply::status(200).body(vec![b' '; (16 << 20) + 1]));
    assert_eq!(stage.send(&endless.url("/"), Sends::Safe).await.unwrap_err(), Failure::TooLarge(16 << 20));
    let error = stage.server(|| Reply::status(500).body(vec![b'x'; 1 << 20]));
    assert_eq!(stage.send(&error.url("/"), Sends::Safe).await.unwrap().body.len(), 64 << 10);
}

#[tokio::test]
async fn a_redirect_is_an_answer_and_not_followed() {
    let stage = stage();
    let server = stage.server(|| Reply::status(307).header("Location", "/elsewhere"));
    assert_eq!(stage.send(&server.url("/"), Sends::Write).await.unwrap().status, StatusCode::TEMPORARY_REDIRECT);
    assert_eq!(server.received().len(), 1);
}

#[tokio::test]
async fn link_local_addresses_are_not_reached() {
    let stage = stage();
    let failure = stage.send("http://169.254.169.254/latest/meta-data", Sends::Safe).await.unwrap_err();
    assert!(matches!(failure, Failure::Blocked(_)), "{failure:?}");
}

#[tokio::test]
async fn safe_requests_share_a_connection_and_writes_never_do() {
    let stage = stage();
    let server = stage.server(|| Reply::status(200).body("ok"));
    for _ in 0..3 {
        stage.send(&server.url("/"), Sends::Safe).await.unwrap();
    }
    assert_eq!(server.connections(), 1);
    for _ in 0..3 {
        stage.send(&server.url("/"), Sends::Write).await.unwrap();
    }
    assert_eq!(server.connections(), 4);
}

#[tokio::test]
async fn a_server_that_closes_idle_connections_never_costs_a_write_its_outcome() {
    let stage = stage();
    // Keep-alive is promised, and the connection is closed as soon as the answer is out.
    let server = stage.server(|| {
        let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\nok";
        Reply::steps(vec![Step::Send(answer.into()), Step::Close])
    });
    for _ in 0..200 {
        stage.send(&server.url("/"), Sends::Write).await.unwrap();
    }
    assert_eq!(server.received().len(), 200);
}
