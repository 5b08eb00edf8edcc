//! FastCGI client for a direct request to php-fpm, bypassing Myriad. It blocks; the time and the size of a response are
//! limited.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use myriad_upstream::fastcgi_protocol::{Event, Params, ResponderDecoder, request};

use myriad_cli::pidfile::reason;

const PATIENCE: Duration = Duration::from_secs(20);
/// Maximum length of a script's output, in bytes. If it is exceeded, reading stops with an error.
const LARGEST: usize = 4 << 20;

trait FastCgiStream: Read + Write {}
impl FastCgiStream for UnixStream {}
impl FastCgiStream for TcpStream {}

/// Requests a script from php-fpm with these FastCGI parameters. Returns the script's output: head and body. Returns an
/// error text if the connection fails, or if the output is too long or takes too long.
pub(super) fn run_script(php: &str, params: &[(&str, &str)]) -> Result<Vec<u8>, String> {
    let describe_error = |error: io::Error| format!("php-fpm at {php}: {}", reason(&error));
    let mut connection = connect(php).map_err(|error| {
        let remedy = match error.kind() {
            io::ErrorKind::PermissionDenied => "run the doctor as root, or as a user who can connect to it",
            _ => "check that php-fpm is running (systemctl status 'php*-fpm'), and specify its socket with --php",
        };
        format!("{}; {remedy}", describe_error(error))
    })?;
    let mut block = Params::new();
    for (name, value) in params {
        block.push(name.as_bytes(), value.as_bytes());
    }
    let mut sent = Vec::new();
    request::begin(&mut sent, false);
    request::params(&mut sent, block.as_bytes());
    request::params(&mut sent, b"");
    sent.extend_from_slice(&request::stdin_end());
    connection.write_all(&sent).map_err(describe_error)?;
    read(connection.as_mut()).map_err(describe_error)
}

fn connect(php: &str) -> io::Result<Box<dyn FastCgiStream>> {
    if php.starts_with('/') {
        let stream = UnixStream::connect(php)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        return Ok(Box::new(stream));
    }
    let address = php.to_socket_addrs()?.next().ok_or(io::ErrorKind::AddrNotAvailable)?;
    let stream = TcpStream::connect_timeout(&address, Duration::from_secs(5))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    Ok(Box::new(stream))
}

fn read(connection: &mut dyn FastCgiStream) -> io::Result<Vec<u8>> {
    let start = Instant::now();
    let (mut decoder, mut input, mut output) = (ResponderDecoder::new(), BytesMut::new(), Vec::new());
    let mut piece = [0; 8192];
    loop {
        let event = decoder.decode(&mut input);
        match event.map_err(|error| io::Error::other(error.to_string()))? {
            Some(Event::Stdout(bytes)) => output.extend_from_slice(&bytes),
            Some(Event::End(_)) => return Ok(output),
            Some(Event::StdoutEnd | Event::Stderr(_)) => {}
            None => {
                if output.len() > LARGEST || start.elapsed() > PATIENCE {
                    return Err(io::Error::other("the response is too long, or timed out"));
                }
                let read = connection.read(&mut piece)?;
                if read == 0 {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                input.extend_from_slice(&piece[..read]);
            }
        }
    }
}
