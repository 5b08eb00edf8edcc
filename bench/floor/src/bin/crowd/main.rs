//! The crowd: many clients that request one page at the same moment; measures when each of them has it.
//!
//! `crowd PORT CLIENTS FIELD < REQUEST` connects CLIENTS times to 127.0.0.1:PORT, waits until the server has had time to
//! accept them all, sends REQUEST on every connection, and prints one line of JSON when the last response is complete.
//!
//! FIELD is the response header with the time when the upstream finished (seconds since 1970). Delays are measured from this
//! timestamp to the last byte at the client, both with `CLOCK_REALTIME` of the same machine, so no assumption about the start
//! of the upstream is needed. If the upstream got several requests, its first response counts. With one thread and one epoll,
//! the client needs a few microseconds per response. `client_cpu_ms` is its total CPU time, which is part of every figure.

mod answer;

use std::collections::BTreeSet;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use answer::{field, is_ok, is_whole};
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::time::{ClockId, Timespec, clock_gettime};

/// Time for the server to accept the connections, so that only the requests arrive at the same moment.
const SETTLE: Duration = Duration::from_millis(100);
/// Maximum time without any response, in seconds.
const PATIENCE: i64 = 60;

/// One client: the received bytes, and the times (`CLOCK_REALTIME`, since 1970) of its request and of the complete response.
struct Client {
    stream: TcpStream,
    received: Vec<u8>,
    asked: Duration,
    served: Option<Duration>,
}

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, port, clients, stamp] = &arguments[..] else {
        return Err(io::Error::other("usage: crowd PORT CLIENTS FIELD < REQUEST"));
    };
    let port: u16 = port.parse().map_err(io::Error::other)?;
    let count: usize = clients.parse().map_err(io::Error::other)?;
    let mut request = Vec::new();
    io::stdin().read_to_end(&mut request)?;
    let mut crowd = connect(port, count)?;
    thread::sleep(SETTLE);
    let before = cpu_time();
    for client in &mut crowd {
        client.asked = now()?;
        client.stream.write_all(&request)?;
    }
    await_answers(&mut crowd)?;
    report(&crowd, stamp, cpu_time().saturating_sub(before))
}

fn connect(port: u16, count: usize) -> io::Result<Vec<Client>> {
    (0..count)
        .map(|_| {
            let stream = TcpStream::connect(("127.0.0.1", port))?;
            stream.set_nodelay(true)?;
            stream.set_nonblocking(true)?;
            Ok(Client { stream, received: Vec::with_capacity(1 << 14), asked: Duration::ZERO, served: None })
        })
        .collect()
}

fn await_answers(crowd: &mut [Client]) -> io::Result<()> {
    let poll = epoll::create(CreateFlags::CLOEXEC)?;
    for (number, client) in crowd.iter().enumerate() {
        epoll::add(&poll, &client.stream, EventData::new_u64(number as u64), EventFlags::IN)?;
    }
    let mut waiting = crowd.len();
    let mut events: Vec<Event> = Vec::with_capacity(256);
    while waiting > 0 {
        events.clear();
        match epoll::wait(
            &poll,
            spare_capacity(&mut events),
            Some(&Timespec { tv_sec: PATIENCE, tv_nsec: 0 }),
        ) {
            Ok(0) => return Err(io::Error::other(format!("{waiting} clients wait for a minute already"))),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        for event in &events {
            let number = usize::try_from(event.data.u64()).map_err(io::Error::other)?;
            let client = &mut crowd[number];
            if client.read()? {
                client.served = Some(now()?);
                epoll::delete(&poll, &client.stream)?;
                waiting -= 1;
            }
        }
    }
    Ok(())
}

impl Client {
    /// Reads available bytes; returns whether the response is complete.
    fn read(&mut self) -> io::Result<bool> {
        let mut buffer = [0; 1 << 14];
        match self.stream.read(&mut buffer) {
            Ok(0) => Err(self.wrong("was cut off after")),
            Ok(count) => {
                self.received.extend_from_slice(&buffer[..count]);
                let whole = is_whole(&self.received);
                if whole && !is_ok(&self.received) { Err(self.wrong("was answered")) } else { Ok(whole) }
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn wrong(&self, what: &str) -> io::Error {
        let start = String::from_utf8_lossy(&self.received[..self.received.len().min(60)]).into_owned();
        io::Error::other(format!("a client {what} {start:?}"))
    }

    fn stamp(&self, name: &str) -> io::Result<Duration> {
        let value = field(&self.received, name).ok_or_else(|| self.wrong(&format!("got no {name} with")))?;
        Duration::try_from_secs_f64(value.parse().map_err(io::Error::other)?).map_err(io::Error::other)
    }
}

fn report(crowd: &[Client], stamp: &str, spent: Duration) -> io::Result<()> {
    let stamps = crowd.iter().map(|client| client.stamp(stamp)).collect::<io::Result<BTreeSet<_>>>()?;
    let origin = *stamps.first().ok_or_else(|| io::Error::other("the number of clients is zero"))?;
    let served = |client: &Client| client.served.unwrap_or_default();
    let late = sorted(crowd.iter().map(|client| milliseconds(origin, served(client))));
    let taken = sorted(crowd.iter().map(|client| milliseconds(client.asked, served(client))));
    println!(
        "{{\"first_late_ms\":{:.3},\"median_late_ms\":{:.3},\"slowest_late_ms\":{:.3},\"longest_ms\":{:.3},\
         \"asking_ms\":{:.3},\"origin_after_ms\":{:.3},\"answers\":{},\"client_cpu_ms\":{:.3}}}",
        late[0],
        late[late.len() / 2],
        late[late.len() - 1],
        taken[taken.len() - 1],
        milliseconds(crowd[0].asked, crowd[crowd.len() - 1].asked),
        milliseconds(crowd[0].asked, origin),
        stamps.len(),
        spent.as_secs_f64() * 1e3,
    );
    Ok(())
}

fn sorted(times: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut times: Vec<f64> = times.collect();
    times.sort_by(f64::total_cmp);
    times
}

/// Returns the milliseconds from one time to another; negative if the second is earlier.
fn milliseconds(from: Duration, to: Duration) -> f64 {
    (to.as_secs_f64() - from.as_secs_f64()) * 1e3
}

fn now() -> io::Result<Duration> {
    SystemTime::now().duration_since(UNIX_EPOCH).map_err(io::Error::other)
}

/// Returns the CPU time of this process, which has one thread.
fn cpu_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).unwrap_or_default()
}
