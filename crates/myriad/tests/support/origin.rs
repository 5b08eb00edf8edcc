//! FastCGI application in a thread of the test, which sends scripted responses.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// Request that the application received.
#[derive(Clone, Debug)]
pub(crate) struct ReceivedRequest {
    pub(crate) params: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl ReceivedRequest {
    pub(crate) fn param(&self, name: &str) -> Option<&str> {
        self.params.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// Response of the application.
#[derive(Clone, Default)]
pub(crate) struct OriginScript {
    pub(crate) stderr: Vec<u8>,
    pub(crate) stdout: Vec<u8>,
    /// Mutex that a test holds to delay the response.
    pub(crate) gate: Arc<Mutex<()>>,
}

/// Application, which runs until the test process exits.
pub(crate) struct FastcgiOrigin {
    pub(crate) port: u16,
    begun: Receiver<()>,
    asked: Receiver<ReceivedRequest>,
    done: Receiver<bool>,
    script: Arc<Mutex<OriginScript>>,
}

impl FastcgiOrigin {
    /// Starts an application that responds with CGI output.
    pub(crate) fn answering(stdout: impl Into<Vec<u8>>) -> Self {
        Self::with(OriginScript { stdout: stdout.into(), ..OriginScript::default() })
    }

    pub(crate) fn with(script: OriginScript) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a socket");
        let port = listener.local_addr().expect("an address").port();
        let script = Arc::new(Mutex::new(script));
        let (begun_sender, begun) = channel();
        let ((asked_sender, asked), (done_sender, done)) = (channel(), channel());
        let answered = Arc::clone(&script);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let script = answered.lock().expect("the script").clone();
                let (begun, asked, done) = (begun_sender.clone(), asked_sender.clone(), done_sender.clone());
                thread::spawn(move || {
                    let _ = begun.send(());
                    serve(stream, &script, &asked, &done);
                });
            }
        });
        Self { port, begun, asked, done, script }
    }

    pub(crate) fn answer_from_now(&self, stdout: impl Into<Vec<u8>>) {
        self.script.lock().expect("the script").stdout = stdout.into();
    }

    /// Waits until the next connection has been accepted.
    pub(crate) fn connected(&self) {
        self.begun.recv_timeout(Duration::from_secs(15)).expect("a connection");
    }

    /// Returns whether another connection has been accepted.
    pub(crate) fn was_connected(&self) -> bool {
        self.begun.try_recv().is_ok()
    }

    /// Waits for the next complete request and returns it.
    pub(crate) fn requests(&self) -> ReceivedRequest {
        self.asked.recv_timeout(Duration::from_secs(15)).expect("a request")
    }

    /// Returns whether the next response was sent completely; `None` if none is finished after `patience`.
    pub(crate) fn taken_whole(&self, patience: Duration) -> Option<bool> {
        self.done.recv_timeout(patience).ok()
    }
}

fn serve(mut stream: TcpStream, script: &OriginScript, asked: &Sender<ReceivedRequest>, done: &Sender<bool>) {
    let Ok(request) = read_request(&mut stream) else { return };
    let _ = asked.send(request);
    drop(script.gate.lock());
    let _ = done.send(write_answer(&mut stream, script).is_ok());
}

fn write_answer(stream: &mut TcpStream, script: &OriginScript) -> io::Result<()> {
    for (kind, bytes) in [(7, &script.stderr), (6, &script.stdout)] {
        for piece in bytes.chunks(32 << 10) {
            stream.write_all(&record(kind, piece))?;
        }
    }
    stream.write_all(&record(6, b""))?;
    stream.write_all(&record(3, &[0; 8]))
}

fn record(kind: u8, content: &[u8]) -> Vec<u8> {
    let mut record = vec![1, kind, 0, 1, (content.len() >> 8) as u8, content.len() as u8, 0, 0];
    record.extend_from_slice(content);
    record
}

fn read_request(stream: &mut TcpStream) -> io::Result<ReceivedRequest> {
    let (mut params, mut body) = (Vec::new(), Vec::new());
    loop {
        let mut header = [0; 8];
        stream.read_exact(&mut header)?;
        let length = usize::from(header[4]) << 8 | usize::from(header[5]);
        let mut content = vec![0; length + usize::from(header[6])];
        stream.read_exact(&mut content)?;
        content.truncate(length);
        match header[1] {
            4 => params.extend_from_slice(&content),
            5 if length == 0 => break,
            5 => body.extend_from_slice(&content),
            _ => {}
        }
    }
    Ok(ReceivedRequest { params: pairs(&params), body })
}

fn pairs(mut bytes: &[u8]) -> Vec<(String, String)> {
    let mut pairs = Vec::new();
    while !bytes.is_empty() {
        let name = length(&mut bytes);
        let value = length(&mut bytes);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        pairs.push((text(&bytes[..name]), text(&bytes[name..name + value])));
        bytes = &bytes[name + value..];
    }
    pairs
}

fn length(bytes: &mut &[u8]) -> usize {
    let long = bytes[0] & 0x80 != 0;
    let (digits, rest) = bytes.split_at(if long { 4 } else { 1 });
    *bytes = rest;
    digits.iter().fold(0, |sum, digit| sum << 8 | usize::from(*digit)) & 0x7fff_ffff
}
