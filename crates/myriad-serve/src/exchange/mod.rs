//! One request on its way: what scripts may read of it, and what they make.

pub(crate) mod client_certificate;
mod credentials;
pub(crate) mod environment;
mod gathered;
mod greeting;
mod lineage;
mod near;
mod origin_facts;
pub(crate) mod origin_uri;
pub(crate) mod paths;
mod request;
pub(crate) mod scratch;
mod slice;
pub(crate) mod variables;
mod visit;

use std::rc::Rc;

use myriad_http::RequestHead;
use myriad_net::{Connection, RequestBody};
use myriad_script::Frame;

pub(crate) use credentials::Credentials;
pub(crate) use gathered::Gathered;
pub(crate) use lineage::{Lineage, TooMany};
pub(crate) use near::Stranger;
pub(crate) use origin_facts::OriginFacts;
pub(crate) use request::{Carried, OtherCodings, Request, Tally};
pub(crate) use slice::{Slice, current_slice};

pub(crate) use visit::Visit;

use crate::worker::Generation;

/// A request and the memory its scripts work in.
pub(crate) struct Exchange {
    /// User variables, captures, results of maps.
    pub frame: Frame,
    /// Everything else, readable by scripts through [`myriad_script::Environment`].
    pub request: Request,
}

impl Exchange {
    /// Begins an exchange. `head` is swapped out of the driver's hands.
    pub(crate) fn begin(
        site: &Rc<Generation>,
        head: &mut RequestHead,
        connection: &Rc<Connection>,
        body: RequestBody,
    ) -> Box<Self> {
        let mut scratch = scratch::take();
        std::mem::swap(&mut scratch.head, head);
        let frame = std::mem::take(&mut scratch.frame);
        Box::new(Self { frame, request: Request::new(site, connection, body, scratch) })
    }

    /// A copy for work that outlives the exchange: the fetch of a page that others wait for too.
    pub(crate) fn snapshot(&self) -> Box<Self> {
        let original = &self.request;
        let copy = scratch::Scratch {
            head: original.head.clone(),
            uri: original.uri.clone(),
            args: original.args.clone(),
            host: original.host.clone(),
            key: original.cache.key.clone(),
            read: Vec::new(),
            frame: Frame::default(),
        };
        let mut request = Request::new(&original.site, &original.connection, RequestBody::empty(), copy);
        request.number = original.number;
        request.server = original.server;
        request.place = original.place;
        request.cache.chosen = original.cache.chosen;
        request.real = original.real;
        request.received_ms = original.received_ms;
        request.as_get = original.as_get;
        request.slice.set(original.slice.get());
        request.lineage.clone_from(&original.lineage);
        request.uri_changed = original.uri_changed;
        request.off_location = original.off_location;
        Box::new(Self { frame: self.frame.clone(), request })
    }

    /// Gives the memory back for the next exchange.
    pub(crate) fn recycle(self) {
        let Request { head, uri, args, host, cache, read, .. } = self.request;
        scratch::give(scratch::Scratch { head, uri, args, host, key: cache.key, read, frame: self.frame });
    }
}
