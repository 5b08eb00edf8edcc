//! Tests of `auth_request`.

use super::support::{GateResult, ask};
use myriad_serve::testing::TestSite;

/// Returns a site with `auth_request /auth`, where the location `/auth` contains the directives `answer`.
fn site(answer: &str) -> TestSite {
    TestSite::new("", &format!("auth_request /auth; location = /auth {{ auth_request off; {answer} }}"))
}

fn came(answer: &str) -> GateResult {
    ask(&mut site(answer).exchange("/", &[])).result
}

#[test]
fn any_success_lets_in() {
    for status in [200, 201, 204] {
        assert_eq!(came(&format!("return {status};")), GateResult::Admitted, "{status}");
    }
}

#[test]
fn only_the_two_statuses_of_refusal_keep_out_by_themselves() {
    assert_eq!(came("return 403;"), GateResult::out(403));
    assert_eq!(came("return 401;"), GateResult::out(401));
    for status in [302, 404, 500, 503] {
        assert_eq!(
            came(&format!("return {status} /x;")),
            GateResult::out(500),
            "{status} counts as an error of the subrequest"
        );
    }
}

#[test]
fn subrequest_that_closes_closes_the_connection() {
    assert_eq!(came("return 444;"), GateResult::out(444));
}

#[test]
fn every_wait_is_one_subrequest() {
    let asked = ask(&mut site("return 204;").exchange("/", &[]));
    assert_eq!((asked.result, asked.waits), (GateResult::Admitted, 1));
}

#[test]
fn subrequest_of_a_subrequest_is_not_asked_again() {
    let site = site("return 403;");
    let mut parent = site.exchange("/", &[]);
    let mut child = parent.child(b"/", b"").expect("the first subrequest");
    assert_eq!(ask(&mut child).result, GateResult::Admitted, "access is checked only for the parent request");
}

#[test]
fn auth_request_gate_identifies_clients() {
    let exchange = site("return 204;").exchange("/", &[]);
    let gate = exchange.request.place().entry.gate.as_ref().expect("a gate");
    assert!(gate.identifies() && !gate.rules_addresses());
}

#[test]
fn explain_names_subrequest_uri_without_sending_it() {
    let exchange = site("return 403;").exchange("/", &[]);
    let gate = exchange.request.place().entry.gate.clone().expect("a gate");
    let (told, verdict) = gate.checks[0].explain(&exchange.request);
    assert_eq!(told, "would send a subrequest to /auth; assumed to be allowed");
    assert!(matches!(verdict, myriad_exchange::exchange::CheckVerdict::Allow));
}

#[test]
fn auth_request_set_takes_subrequest_values_for_any_status() {
    let assigned_values = |status: u16| {
        let site = TestSite::new(
            "",
            &format!(
                "auth_request /auth; auth_request_set $who \"$status of $uri\"; auth_request_set $again \"$who, $args\";
                 add_header X-Who $who; add_header X-Again $again;
                 location = /auth {{ auth_request off; return {status}; }}"
            ),
        );
        let mut exchange = site.exchange("/?mine", &[]);
        let came = ask(&mut exchange).result;
        let site = std::rc::Rc::clone(&exchange.request.site);
        let place = site.runtime.place(exchange.request.route.place);
        let values = place.headers.add.iter().map(|field| {
            let mut value = Vec::new();
            let myriad_exchange::exchange::Exchange { request, frame } = &mut *exchange;
            field.value.eval(request, frame, &mut value).expect("a value");
            String::from_utf8(value).expect("text")
        });
        (came, values.collect::<Vec<_>>())
    };
    let values = |status: u16| vec![format!("{status} of /auth"), ", ".to_owned()];
    assert_eq!(assigned_values(204), (GateResult::Admitted, values(204)));
    assert_eq!(assigned_values(403), (GateResult::out(403), values(403)));
}
