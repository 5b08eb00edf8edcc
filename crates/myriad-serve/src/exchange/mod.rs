//! One request on its way: what scripts may read of it, and what they make.

pub mod environment;
mod origin_facts;
mod request;
pub mod scratch;
pub mod time;
pub mod variables;

use std::net::IpAddr;
use std::rc::Rc;

use myriad_http::RequestHead;
use myriad_net::{Connection, RequestBody};
use myriad_script::Frame;

pub use origin_facts::OriginFacts;
pub use request::Request;

use crate::worker::Generation;

/// A request and the memory its scripts work in.
pub struct Exchange {
    /// User variables, captures, results of maps.
    pub frame: Frame,
    /// Everything else, readable by scripts through [`myriad_script::Environment`].
    pub request: Request,
}

impl Exchange {
    /// Begins an exchange. `head` is swapped out of the driver's hands.
    pub fn begin(
        site: &Rc<Generation>,
        head: &mut RequestHead,
        connection: &Rc<Connection>,
        body: RequestBody,
    ) -> Box<Self> {
        let scratch = scratch::take();
        let mut taken = scratch.head;
        std::mem::swap(&mut taken, head);
        Box::new(Self {
            frame: scratch.frame,
            request: Request::new(site, taken, connection, body, scratch.uri, scratch.args, scratch.host),
        })
    }

    /// A copy for work that outlives the exchange: the fetch of a page that others wait for too.
    pub fn snapshot(&self) -> Box<Self> {
        let original = &self.request;
        let mut request = Request::new(
            &original.site,
            original.head.clone(),
            &original.connection,
            RequestBody::empty(),
            original.uri.clone(),
            original.args.clone(),
            original.host.clone(),
        );
        request.server = original.server;
        request.place = original.place;
        request.received_ms = original.received_ms;
        request.as_get = original.as_get;
        Box::new(Self { frame: self.frame.clone(), request })
    }

    /// Gives the memory back for the next exchange.
    pub fn recycle(self) {
        let Request { head, uri, args, host, .. } = self.request;
        scratch::give(scratch::Scratch { head, uri, args, host, frame: self.frame });
    }

    /// The client's address; none on a unix socket.
    pub fn client(&self) -> Option<IpAddr> {
        self.request.connection.peer.ip()
    }
}
