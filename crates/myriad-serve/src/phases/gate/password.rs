//! `auth_basic`.

use std::path::Path;

use bytes::Bytes;
use myriad_files::{Validity, Walk, as_path};
use myriad_log::Level;
use myriad_password::{Judgement, Stored, find};
use myriad_script::EvalError;

use super::{Verdict, Waiting};
use crate::exchange::{Credentials, Exchange, Request};
use crate::runtime::BasicRules;

/// A password whose hash takes time.
pub(crate) struct Attempt {
    stored: Vec<u8>,
    credentials: Credentials,
    challenge: Vec<u8>,
}

/// Asks for a user and a password that the file knows.
pub(super) fn judge(exchange: &mut Exchange, rules: &BasicRules) -> Verdict {
    let texts = evaluate(exchange, rules);
    let request = &exchange.request;
    let (realm, path) = match texts {
        Ok(texts) => texts,
        Err(error) => {
            request.log(Level::Error, format_args!("{error}"));
            return Verdict::Fail(500);
        }
    };
    if realm == b"off" {
        return Verdict::Pass;
    }
    let challenge = challenge(&realm);
    let Some(credentials) = Credentials::of(request) else {
        request.log(Level::Info, format_args!("no user/password was provided for basic authentication"));
        return Verdict::Challenge(challenge);
    };
    let file = match read(request, &path) {
        Ok(file) => file,
        Err(verdict) => return verdict,
    };
    let Some(stored) = find(&file, credentials.user()) else {
        let user = String::from_utf8_lossy(credentials.user());
        let path = String::from_utf8_lossy(&path);
        request.log(Level::Error, format_args!("user \"{user}\" was not found in \"{path}\""));
        return Verdict::Challenge(challenge);
    };
    let password = credentials.password();
    let kind = Stored::new(stored);
    if !kind.is_slow() {
        return verdict(request, kind.judge(password), &credentials, challenge);
    }
    if request.site.worker.passwords.knows(stored, password, request.received_ms) {
        return Verdict::Allow;
    }
    Verdict::Wait(Waiting::Password(Attempt { stored: stored.to_vec(), credentials, challenge }))
}

/// Waits for the slow hash.
pub(super) async fn wait(exchange: &Exchange, attempt: Attempt) -> Verdict {
    let request = &exchange.request;
    let Attempt { stored, credentials, challenge } = attempt;
    let passwords = &request.site.worker.passwords;
    let judged = passwords.judge(stored, credentials.password().to_vec(), request.received_ms).await;
    let Ok(judgement) = judged else {
        request.log(Level::Error, format_args!("too many passwords are being checked"));
        return Verdict::Fail(503);
    };
    verdict(request, judgement, &credentials, challenge)
}

fn verdict(request: &Request, judgement: Judgement, who: &Credentials, challenge: Vec<u8>) -> Verdict {
    let user = String::from_utf8_lossy(who.user());
    match judgement {
        Judgement::Match => Verdict::Allow,
        Judgement::Mismatch => {
            request.log(Level::Error, format_args!("user \"{user}\": password mismatch"));
            Verdict::Challenge(challenge)
        }
        Judgement::Unknown => {
            let known = "{PLAIN}, {SHA}, {SSHA}, crypt, $1$, $apr1$, $5$, $6$, $2y$";
            request.log(
                Level::Error,
                format_args!("user \"{user}\": the stored password is of no known kind ({known})"),
            );
            Verdict::Challenge(challenge)
        }
    }
}

fn evaluate(exchange: &mut Exchange, rules: &BasicRules) -> Result<(Vec<u8>, Vec<u8>), EvalError> {
    let Exchange { request, frame } = exchange;
    let (mut realm, mut path) = (Vec::new(), Vec::new());
    rules.realm.eval(request, frame, &mut realm)?;
    rules.file.eval(request, frame, &mut path)?;
    if !path.starts_with(b"/") {
        let mut absolute = rules.folder.to_vec();
        absolute.push(b'/');
        absolute.append(&mut path);
        path = absolute;
    }
    Ok((realm, path))
}

fn challenge(realm: &[u8]) -> Vec<u8> {
    let mut value = b"Basic realm=\"".to_vec();
    value.extend(realm.iter().filter(|byte| !byte.is_ascii_control()));
    value.push(b'"');
    value
}

/// The file as it is now. What was read of it before serves while the file is the same.
fn read(request: &Request, path: &[u8]) -> Result<Bytes, Verdict> {
    const ALWAYS_ASK: Validity = Validity { found_ms: 0, missing_ms: 0, settling_ms: 0 };
    if path.contains(&0) {
        return Err(failed(request, path, &std::io::ErrorKind::InvalidInput.into()));
    }
    let entry = request.site.worker.files.look(path, Walk::Free, ALWAYS_ASK, request.received_ms);
    if let Some(file) = entry.file().filter(|file| file.is_small()) {
        if let Some(contents) = file.contents() {
            return Ok(contents.clone());
        }
        if file.load(as_path(path)).is_ok()
            && let Some(contents) = file.contents()
        {
            return Ok(contents.clone());
        }
    }
    std::fs::read(as_path(path)).map(Bytes::from).map_err(|error| failed(request, path, &error))
}

fn failed(request: &Request, path: &[u8], error: &std::io::Error) -> Verdict {
    let shown = Path::display(as_path(path));
    if error.kind() == std::io::ErrorKind::NotFound {
        request.log(Level::Error, format_args!("open() \"{shown}\" failed ({error})"));
        return Verdict::Refuse(403);
    }
    request.log(Level::Crit, format_args!("open() \"{shown}\" failed ({error})"));
    Verdict::Fail(500)
}
