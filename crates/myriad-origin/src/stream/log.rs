//! Access logs of `stream` sessions.

use crate::stream::session::StreamSession;

/// Writes a line for a finished session to each access log of its server whose conditions it meets.
pub(crate) fn write(session: &StreamSession) {
    let streams = &session.streams;
    for log in &session.server().access_logs {
        let mut frame = session.frame.borrow_mut();
        if !log.admits(session.status.get(), session, &mut frame) {
            continue;
        }
        let path = log.target.path(session, &mut frame, &streams.runtime.prefix);
        let format = &streams.runtime.formats[log.format];
        streams
            .worker
            .logs
            .line(&log.target, path, |line| format.write_line(session, &mut frame, line).is_ok());
    }
}
