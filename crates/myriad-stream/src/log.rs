//! The line of a session in the access logs of its server.

use myriad_log::Level;

use crate::session::Session;

/// Writes a session that is over to the access logs.
pub(crate) fn write(session: &Session) {
    let streams = &session.streams;
    for log in &session.server().access_logs {
        let mut frame = session.frame.borrow_mut();
        if !log.admits(session, &mut frame) {
            continue;
        }
        let mut line = Vec::new();
        if streams.runtime.formats[log.format].write_line(session, &mut frame, &mut line).is_err() {
            continue;
        }
        let path = log.target.path(session, &mut frame, &streams.runtime.prefix);
        drop(frame);
        let written = streams.worker.logs.write(&log.target, path.as_deref(), &line);
        if let (Err(error), Some(path)) = (written, path) {
            let path = path.display();
            session.log(Level::Crit, format_args!("open() \"{path}\" failed ({error}) while logging"));
        }
    }
}
