//! Handling of the events that QUIC reports for a connection.

use quinn_proto::{ConnectionError, Dir, Event, StreamEvent, StreamId, VarInt};

use super::super::request::{RequestState, RequestStream};
use super::{HubContext, QuicClient};
use crate::deadline;
use crate::service::{HandshakeFailure, Service};

impl<S: Service> QuicClient<S> {
    /// Processes all pending events of the QUIC connection.
    pub(in super::super) fn process_events(&mut self, around: &mut HubContext<'_, S>) {
        self.watch_address(around.now);
        while let Some(event) = self.quic.poll() {
            match event {
                Event::HandshakeDataReady => {
                    self.open_server_streams(around.service.limits(&self.connection).block.total);
                }
                Event::Connected => self.on_connected(around),
                Event::ConnectionLost { reason } => self.on_connection_lost(&reason, around),
                Event::Stream(event) => self.on_stream_event(&event, around),
                Event::DatagramReceived | Event::DatagramsUnblocked => {}
            }
        }
        self.send_qpack_acks(around);
        if self.is_over() {
            self.discard_streams(around);
        } else {
            self.close_if_done(around.now);
        }
    }

    fn on_connected(&mut self, around: &mut HubContext<'_, S>) {
        self.handshake_until = None;
        self.update_connection();
        around.service.handshake_over(&self.connection, None);
        self.connection.early.set(false);
        self.active = around.now;
        if self.epoch != deadline::epoch() {
            // A reload during the handshake: no GOAWAY could be sent then.
            self.go_away(around.now);
        }
        let held = self.streams.iter().filter(|(_, stream)| matches!(stream.work, RequestState::Held(_)));
        let held: Vec<StreamId> = held.map(|(id, _)| *id).collect();
        for id in held {
            self.read(id, around);
        }
    }

    fn on_connection_lost(&mut self, reason: &ConnectionError, around: &HubContext<'_, S>) {
        let ConnectionError::TransportError(error) = reason else { return };
        if self.handshake_until.is_some() {
            around.service.handshake_over(&self.connection, Some(HandshakeFailure::Other));
            around.service.tls_failed(&self.connection, &error.reason);
        } else {
            around.service.http3_failed(&self.connection, error);
        }
    }

    fn on_stream_event(&mut self, event: &StreamEvent, around: &mut HubContext<'_, S>) {
        match *event {
            StreamEvent::Opened { dir: Dir::Bi } => {
                while let Some(id) = self.quic.streams().accept(Dir::Bi) {
                    self.on_stream_opened(id, around);
                }
            }
            StreamEvent::Opened { dir: Dir::Uni } => {
                while let Some(id) = self.quic.streams().accept(Dir::Uni) {
                    self.one_way.insert(id, Default::default());
                    self.read_one_way(id, around);
                }
            }
            StreamEvent::Readable { id } if id.dir() == Dir::Uni => self.read_one_way(id, around),
            StreamEvent::Readable { id } => self.read(id, around),
            StreamEvent::Writable { id } => self.advance(id, around),
            StreamEvent::Stopped { id, .. } => self.on_response_cancelled(id, around),
            StreamEvent::Finished { .. } | StreamEvent::Available { .. } => {}
        }
    }

    fn on_stream_opened(&mut self, id: StreamId, around: &mut HubContext<'_, S>) {
        self.active = around.now;
        if self.leaving.is_some() {
            return self.reject(id, around);
        }
        let number = VarInt::from(id).into_inner();
        self.next = number + 4;
        if self.streams.is_empty() {
            self.looked = around.now;
        }
        self.streams.insert(id, RequestStream::new(number, around.now));
        self.read(id, around);
    }

    /// Handles a wake: of the exchange on `stream`, or for `None` of the whole connection (eviction or interim
    /// responses).
    pub(in super::super) fn on_wake(&mut self, stream: Option<StreamId>, around: &mut HubContext<'_, S>) {
        match stream {
            None if self.connection.is_evicted() => self.evict(around.now),
            None => self.send_interims(),
            Some(id) => {
                self.take_released(id);
                self.read(id, around);
                self.advance(id, around);
            }
        }
        if !self.is_over() {
            self.close_if_done(around.now);
        }
    }
}
