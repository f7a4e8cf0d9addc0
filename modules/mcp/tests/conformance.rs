//! The contract's suite.

use lf_harness::{
    Reply, Server, World,
    conformance::{Kind, Subject, run},
    mcp::Offer,
};
use lf_module::call::Settings;

use crate::stage::{connect, credential, record, tools};

#[tokio::test]
async fn every_promise_of_the_contract_is_kept() {
    let offer = Offer::of(tools());
    let good = Server::start(World::new(0.5), move |received| offer.reply(received)).unwrap();
    let silent = Server::start(World::new(0.5), |_| Reply::silence()).unwrap();
    let to = |server: &Server| {
        let url = server.url("/mcp");
        move |ports| connect(ports, credential(&[("url", &url), ("token", "s3cret")]), Settings::new())
    };
    let subject = Subject {
        connect: Box::new(to(&good)),
        hanging: Some(Box::new(to(&silent))),
        // A session is opened first, and while that hangs nothing can have been done.
        writes_at_once: false,
        kinds: vec![
            Kind {
                ty: "search_issues".into(),
                pins: record(&[("query", "Acme".into())]),
                records: Some(1),
                ..Kind::default()
            },
            Kind {
                ty: "create_issue".into(),
                create: Some(record(&[("title", "Follow up".into()), ("team", "ENG".into())])),
                ..Kind::default()
            },
        ],
        secrets: vec!["s3cret".into(), "session-1".into()],
    };
    let report = run(&subject).await;
    assert_eq!(report.broken, Vec::<String>::new());
    // Answers of tools have no keys, so nothing can be looked for by one.
    let untried = |name| format!("an absent `{name}`: no missing key is given");
    assert_eq!(report.untried, [untried("search_issues"), untried("create_issue")]);
    assert!(report.kept.len() > 10, "{:#?}", report.kept);
}
