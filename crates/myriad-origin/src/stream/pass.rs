//! `pass`: passes a connection to the servers of another listening socket, of `http` or `stream`.

use std::any::Any;

use myriad_log::LogLevel;
use myriad_script::Template;
use myriad_upstream::PeerAddress;

use crate::stream::session::{SessionAddresses, StreamSession};

/// Passes the connection of a session to the listening socket at the address `target`. `held` is dropped when the
/// connection is closed. The error is the status of the session: 200 if no socket listens at the address, otherwise
/// 500.
pub(crate) fn pass_connection(
    session: &StreamSession,
    target: &Template,
    held: Box<dyn Any>,
) -> Result<(), u16> {
    let log = |what: &str, name: &str| {
        session.log(LogLevel::Error, format_args!("{what} \"{name}\" while passing connection to port"));
    };
    let name = session.eval(target).map_err(|_| 500_u16)?;
    let name = String::from_utf8_lossy(&name);
    let address = PeerAddress::parse(&name, None).map_err(|error| {
        log(&format!("{error} in pass"), &name);
        500_u16
    })?;
    let Some(socket) = session.streams.runtime.sockets.find(&address) else {
        log("port not found for", &name);
        return Err(200);
    };
    if socket.secure && session.tls().is_some() {
        log("cannot pass a connection whose TLS is already terminated to the \"ssl\" socket", &name);
        return Err(500);
    }
    if socket.proxy_protocol && session.proxied().is_some() {
        log("cannot pass a connection with a PROXY protocol header to the \"proxy_protocol\" socket", &name);
        return Err(500);
    }
    let local = match address {
        PeerAddress::Tcp(address) => Some(address),
        PeerAddress::Unix(_) => None,
    };
    if !session.connection.pass_to(socket.number, local, held) {
        log("stream pass cycle at", &name);
        return Err(500);
    }
    Ok(())
}

/// Logs that UDP datagrams cannot be passed to another socket (`pass`). Returns the status of the session, 500.
pub(crate) fn refuse_datagrams(session: &StreamSession) -> u16 {
    let message = format_args!("cannot pass udp connection{}", SessionAddresses(session));
    session.server().errors.write(LogLevel::Error, Some(session.connection.id), message);
    500
}
