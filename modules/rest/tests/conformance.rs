//! The contract's suite.

use lf_harness::{
    Reply, Server, World,
    conformance::{Kind, Subject, run},
};
use lf_module::{Key, Record};

use crate::crm::{CRM, Crm, TOKEN, connect};

#[tokio::test]
async fn every_promise_of_the_contract_is_kept() {
    let crm = Crm::start(10, 7);
    let silent = Server::start(World::new(0.5), |_| Reply::silence()).unwrap();
    let (here, nowhere) = (crm.server.url(""), silent.url(""));
    let subject = Subject {
        connect: Box::new(move |ports| connect(CRM, &here, ports)),
        hanging: Some(Box::new(move |ports| connect(CRM, &nowhere, ports))),
        writes_at_once: true,
        kinds: vec![
            Kind {
                ty: "Company".into(),
                records: Some(10),
                missing: Some(Key("4711".into())),
                create: Some(Record::from_iter([("Name", "Umbra".into()), ("size", "small".into())])),
                update: Some(Record::from_iter([("Name", "Umbra & Söhne".into())])),
                ..Kind::default()
            },
            Kind {
                ty: "Person".into(),
                records: Some(7),
                missing: Some(Key("p/4711".into())),
                create: Some(Record::from_iter([("email", "new@example.com".into())])),
                ..Kind::default()
            },
        ],
        secrets: vec![TOKEN.into()],
    };
    let report = run(&subject).await;
    assert_eq!(report.broken, Vec::<String>::new());
    assert_eq!(report.untried, Vec::<String>::new());
    assert!(report.kept.len() > 30, "{:#?}", report.kept);
}
