//! Measures the cost of the rules of a WordPress recipe on a cache hit: `cargo run --release --example cost`.
//!
//! Prints nanoseconds for ten `if`s and two cache predicates, for clients with different cookies, and the run time of
//! patterns with catastrophic backtracking.

use std::hint::black_box;
use std::time::Instant;

use myriad_script::{
    Builtin, Catalogue, Compiler, Environment, EvalError, Frame, Predicates, Program, StepKind, StepSource,
    VariableRole,
};

const NAMES: [&str; 7] =
    ["request_method", "query_string", "request_uri", "http_cookie", "host", "http_user_agent", "https"];

struct CostCatalogue;

impl Catalogue for CostCatalogue {
    fn builtin(&mut self, name: &str) -> Option<(Builtin, VariableRole)> {
        let at = NAMES.iter().position(|known| *known == name)?;
        Some((Builtin(at as u32), VariableRole::Fixed))
    }
}

struct CostRequest<'r> {
    values: [Option<&'r [u8]>; 7],
}

impl Environment for CostRequest<'_> {
    fn variable(&self, _: Builtin, _: &mut Frame, _: &mut Vec<u8>) -> Result<bool, EvalError> {
        Ok(false)
    }

    fn variable_ref(&self, id: Builtin) -> Option<Option<&[u8]>> {
        self.values.get(id.0 as usize).copied()
    }

    fn uri(&self) -> &[u8] {
        self.values[2].unwrap_or_default()
    }

    fn args(&self) -> &[u8] {
        self.values[1].unwrap_or_default()
    }

    fn uri_was_escaped(&self) -> bool {
        false
    }

    fn rewrite(&mut self, _: &[u8], _: &[u8]) {}
}

const RULES: [&[&str]; 10] = [
    &["$request_method", "=", "POST"],
    &["$request_method", "!~", "^(GET|HEAD)$"],
    &["$query_string", "!=", ""],
    &["$request_uri", "~*", "/wp-admin/|/xmlrpc.php|wp-.*.php|/feed/|index.php|sitemap(_index)?.xml"],
    &["$request_uri", "~*", "/(cart|checkout|my-account|panier|mon-compte|addons)/"],
    &[
        "$http_cookie",
        "~*",
        "comment_author|wordpress_(?!test_cookie)[a-f0-9]+|wp-postpass|wordpress_logged_in",
    ],
    &["$http_cookie", "~*", "woocommerce_items_in_cart|woocommerce_cart_hash|wp_woocommerce_session"],
    &["$http_cookie", "~*", "edd_items_in_cart|wptouch_switch_toggle"],
    &["$http_user_agent", "~*", "(semrush|ahrefs|mj12)bot"],
    &["$host", "=", "www.example.com"],
];

fn compile() -> (Program, Predicates) {
    let mut compiler = Compiler::new(CostCatalogue);
    let step = |kind| StepSource { tag: 0, kind };
    let set = |value| step(StepKind::Set { variable: "$skip_cache", value });
    let mut steps = vec![set("0")];
    steps.extend(
        RULES
            .iter()
            .map(|rule| step(StepKind::If { condition: rule.to_vec(), block: vec![set("1")], id: None })),
    );
    let program = compiler.program(&steps).expect("the rules compile");
    let predicates = compiler.predicates(&["$skip_cache", "$skip_cache"]).expect("the predicates compile");
    compiler.finish().expect("everything is defined");
    (program, predicates)
}

fn measure(
    name: &str,
    program: &Program,
    predicates: &Predicates,
    uri: &str,
    cookie: Option<&str>,
    agent: Option<&str>,
) {
    let text = |text: &'static str| Some(text.as_bytes());
    let values = [
        text("GET"),
        text(""),
        Some(uri.as_bytes()),
        cookie.map(str::as_bytes),
        text("example.com"),
        agent.map(str::as_bytes),
        None,
    ];
    let mut request = CostRequest { values };
    let mut frame = Frame::new();
    let mut rounds: Vec<f64> = (0..15)
        .map(|_| {
            let started = Instant::now();
            for _ in 0..100_000 {
                frame.reset();
                let flow = program.run(black_box(&mut request), &mut frame);
                black_box((flow.is_ok(), predicates.any_true(&request, &mut frame).is_ok()));
            }
            started.elapsed().as_secs_f64() * 1e9 / 100_000.0
        })
        .collect();
    rounds.sort_by(f64::total_cmp);
    println!("{name:<44} {:>7.0} ns (median), {:>5.0} ns (least)", rounds[7], rounds[0]);
}

fn main() {
    let (program, predicates) = compile();
    let run = |name: &str, uri: &str, cookie: Option<&str>, agent: Option<&str>| {
        measure(name, &program, &predicates, uri, cookie, agent);
    };
    let agent = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36";
    run("no cookie, no user agent", "/2026/11/hello-world/", None, None);
    run("no cookie, a browser's user agent", "/2026/11/hello-world/", None, Some(agent));
    let tracked = "_ga=GA1.1.1187265834.1700000000; _gid=GA1.2.33; cookieyes-consent=yes";
    run("tracking cookies, a browser's user agent", "/2026/11/hello-world/", Some(tracked), Some(agent));
    run(
        "test cookie only",
        "/2026/11/hello-world/",
        Some("wordpress_test_cookie=WP%20Cookie%20check"),
        Some(agent),
    );
    run("logged in", "/", Some("wordpress_logged_in_0123=admin%7C1700000000"), Some(agent));

    let mut compiler = Compiler::new(CostCatalogue);
    for pattern in ["^(a+)+$", "(x+x+)+y", "^(a|aa)+$", "(.*)(.*)(.*)=(.*)!"] {
        let regex = compiler.regex(pattern, false).expect("the pattern compiles");
        let subject = "a".repeat(8000) + "?";
        let started = Instant::now();
        let result = regex.is_match(subject.as_bytes());
        println!(
            "{pattern:<44} {:>7.2} ms ({})",
            started.elapsed().as_secs_f64() * 1e3,
            if result.is_err() { "gave up" } else { "answered" }
        );
    }
}
