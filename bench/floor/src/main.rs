//! The floor: a server that measures the minimum CPU time that the kernel needs to send a response.
//!
//! `floor PORT FILE [close]` answers every request on 127.0.0.1:PORT with the bytes of FILE; with `close` it closes the
//! connection after each response. One thread, one epoll, no HTTP: any bytes up to CRLF CRLF are a request. If a server costs
//! 1.2 times as much, all its work for HTTP and caching costs a fifth of the kernel's work.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};

/// A client, the last bytes that it sent, and the number of response bytes that are not sent yet.
struct Connection {
    stream: TcpStream,
    tail: [u8; 4],
    unsent: usize,
}

/// The next step of a connection.
enum Next {
    Read,
    Write,
    Close,
}

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, port, file, rest @ ..] = &arguments[..] else {
        return Err(io::Error::other("usage: floor PORT FILE [close]"));
    };
    let port: u16 = port.parse().map_err(io::Error::other)?;
    let response = std::fs::read(file)?;
    serve(&TcpListener::bind(("127.0.0.1", port))?, &response, rest.iter().any(|word| word == "close"))
}

fn serve(listener: &TcpListener, response: &[u8], close: bool) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let poll = epoll::create(CreateFlags::CLOEXEC)?;
    let own = EventData::new_u64(u64::MAX);
    epoll::add(&poll, listener, own, EventFlags::IN)?;
    let mut connections: Vec<Option<Connection>> = Vec::new(); // by file descriptor
    let mut events: Vec<Event> = Vec::with_capacity(256);
    loop {
        events.clear();
        match epoll::wait(&poll, spare_capacity(&mut events), None) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        }
        for event in &events {
            let id = event.data.u64();
            if id == u64::MAX {
                while let Ok((stream, _)) = listener.accept() {
                    stream.set_nonblocking(true)?;
                    stream.set_nodelay(true)?;
                    let slot = usize::try_from(stream.as_raw_fd()).map_err(io::Error::other)?;
                    epoll::add(&poll, &stream, EventData::new_u64(slot as u64), EventFlags::IN)?;
                    connections.resize_with(connections.len().max(slot + 1), || None);
                    connections[slot] = Some(Connection { stream, tail: [0; 4], unsent: 0 });
                }
                continue;
            }
            let slot = usize::try_from(id).map_err(io::Error::other)?;
            if let Some(Some(connection)) = connections.get_mut(slot) {
                let waited_to_write = connection.unsent > 0;
                match connection.advance(response, close) {
                    Next::Close => connections[slot] = None,
                    Next::Read if waited_to_write => {
                        epoll::modify(&poll, &connection.stream, EventData::new_u64(id), EventFlags::IN)?;
                    }
                    Next::Write if !waited_to_write => {
                        epoll::modify(&poll, &connection.stream, EventData::new_u64(id), EventFlags::OUT)?;
                    }
                    Next::Read | Next::Write => {}
                }
            }
        }
    }
}

impl Connection {
    /// Reads available bytes and sends the response after a complete request, or continues to send the response.
    fn advance(&mut self, response: &[u8], close: bool) -> Next {
        if self.unsent == 0 {
            let mut buffer = [0; 4096];
            let count = match self.stream.read(&mut buffer) {
                Ok(0) => return Next::Close,
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Next::Read,
                Err(_) => return Next::Close,
            };
            self.remember_tail(&buffer[..count]);
            if &self.tail != b"\r\n\r\n" {
                return Next::Read;
            }
            self.tail = [0; 4];
            self.unsent = response.len();
        }
        while self.unsent > 0 {
            match self.stream.write(&response[response.len() - self.unsent..]) {
                Ok(count) => self.unsent -= count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Next::Write,
                Err(_) => return Next::Close,
            }
        }
        if close { Next::Close } else { Next::Read }
    }

    fn remember_tail(&mut self, bytes: &[u8]) {
        if let Some(last) = bytes.last_chunk::<4>() {
            self.tail = *last;
        } else {
            self.tail.rotate_left(bytes.len());
            self.tail[4 - bytes.len()..].copy_from_slice(bytes);
        }
    }
}
