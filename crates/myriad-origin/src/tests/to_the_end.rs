//! Fetches that go on without their client.

use std::net::TcpListener;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use myriad_http::body::{Body, BodyError};
use myriad_upstream::{ErrorKind, RequestPayload};

use crate::fetch::fetch_to_the_end;
use crate::group::{of_place, settle};
use crate::testing::Trial;

/// A request body in which the work panics.
struct Panics;

impl Body for Panics {
    fn poll_data(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        panic!("of the test");
    }

    fn size_hint(&self) -> Option<u64> {
        None
    }
}

#[test]
fn visitor_does_not_wait_for_a_fetch_that_has_broken_off() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    let mut trial = Trial::of(&format!("location / {{ proxy_pass http://{address}; }}"), "POST /", &[]);
    let origin = trial.origin();
    let request = trial.made(RequestPayload::Stream(Box::pin(Panics), None)).expect("a request");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let fetched = tokio::task::LocalSet::new().block_on(&runtime, async {
        let chosen = of_place(&mut trial.0, &origin).unwrap_or_else(|status| panic!("{status}"));
        let group = settle(&mut trial.0, chosen).await.unwrap_or_else(|status| panic!("{status}"));
        fetch_to_the_end(&mut trial.0, &origin, &group, request).await
    });
    let Err(error) = fetched else { panic!("there is an answer") };
    assert_eq!((error.kind(), error.status()), (&ErrorKind::Io, 502));
}
