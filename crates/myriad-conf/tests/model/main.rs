//! Tests of the model: inheritance, and each typed part.

mod blocks;
mod inheritance;
mod origin;
mod rewrite;
mod server;

use std::path::Path;

use myriad_conf::{
    MemoryLoader, Model, Settings, Text, build,
    model::{HttpConf, LocationConf, ServerConf},
    render,
    testing::registry,
};

#[track_caller]
fn model(text: &str) -> Model {
    let parsed =
        registry().parse(&MemoryLoader::with("/conf/nginx.conf", text), Path::new("/conf/nginx.conf"), b"");
    build(&parsed, &registry()).unwrap_or_else(|errors| {
        let errors: Vec<_> = errors.iter().map(|error| render(&parsed, error)).collect();
        panic!("{text}\n{}", errors.join("\n"))
    })
}

/// Returns the message of the first error of a configuration that must be rejected.
#[track_caller]
fn refusal(text: &str) -> String {
    let parsed =
        registry().parse(&MemoryLoader::with("/conf/nginx.conf", text), Path::new("/conf/nginx.conf"), b"");
    build(&parsed, &registry()).expect_err(text)[0].message.clone()
}

#[test]
fn errors_that_are_not_shown_are_counted() {
    for (count, expected) in
        [(50, None), (51, Some("1 more error is not shown")), (52, Some("2 more errors are not shown"))]
    {
        let lines: Vec<String> = (0..count).map(|number| format!("unknown_{number} on;\n")).collect();
        let parsed = registry().parse(
            &MemoryLoader::with("/conf/nginx.conf", lines.concat()),
            Path::new("/conf/nginx.conf"),
            b"",
        );
        let errors = build(&parsed, &registry()).expect_err("unknown directives");
        assert_eq!(errors.get(50).map(|error| &*error.message), expected);
    }
}

#[track_caller]
fn http(inside: &str) -> HttpConf {
    model(&format!("http {{ {inside} }}")).http.unwrap()
}

#[track_caller]
fn server(inside: &str) -> ServerConf {
    http(&format!("server {{ {inside} }}")).servers.remove(0)
}

#[track_caller]
fn location(inside: &str) -> LocationConf {
    server(&format!("location / {{ {inside} }}")).locations.remove(0)
}

#[track_caller]
fn settings(inside: &str) -> Settings {
    location(inside).settings
}

fn texts(list: &[Text]) -> Vec<String> {
    list.iter().map(|text| text.lossy().into_owned()).collect()
}
