//! Check of `auth_basic`: requires a user and a password from the password file.

use std::sync::Arc;

use crate::password::{PasswordMatch, StoredPassword, find};
use myriad_log::LogLevel;
use myriad_script::{EvalError, Template};

use super::credentials::Credentials;
use super::file;
use super::passwords::PasswordVerifier;
use myriad_exchange::exchange::{Check, CheckVerdict, Exchange, Request};

/// Compiled `auth_basic` of a location.
pub(super) struct AuthBasic {
    /// Realm. If it evaluates to `off`, no password is required.
    pub realm: Template,
    /// Name of the password file (`auth_basic_user_file`).
    pub file: Template,
    /// Folder against which a relative file name is resolved.
    pub folder: Box<[u8]>,
    /// Verifier of slow hashes, shared by all workers.
    pub passwords: Arc<PasswordVerifier>,
}

/// Log message for a request that is rejected because too many passwords are being verified.
const TOO_MANY: &str = "too many password checks are queued, the client gets 503: slow password hashes such as bcrypt, or a password \
     guessing attack";

impl Check for AuthBasic {
    fn name(&self) -> &'static str {
        "auth_basic"
    }

    fn judge(&self, exchange: &mut Exchange) -> CheckVerdict {
        let texts = self.texts(exchange);
        let request = &exchange.request;
        let (realm, path) = match texts {
            Ok(texts) => texts,
            Err(error) => {
                request.log(LogLevel::Error, format_args!("{error}"));
                return CheckVerdict::Fail(500);
            }
        };
        if realm == b"off" {
            return CheckVerdict::Pass;
        }
        let challenge = challenge(&realm);
        let Some(credentials) = Credentials::of(request) else {
            request
                .log(LogLevel::Info, format_args!("no user/password was provided for basic authentication"));
            return CheckVerdict::Challenge(vec![challenge]);
        };
        let file = match file::read(exchange, &path) {
            Ok(file) => file,
            Err(verdict) => return verdict,
        };
        let request = &exchange.request;
        let Some(stored) = find(&file, credentials.user()) else {
            let user = String::from_utf8_lossy(credentials.user());
            let path = String::from_utf8_lossy(&path);
            request.log(LogLevel::Error, format_args!("user \"{user}\" was not found in \"{path}\""));
            return CheckVerdict::Challenge(vec![challenge]);
        };
        let password = credentials.password();
        let kind = StoredPassword::new(stored);
        if !kind.is_slow() {
            return verdict(request, kind.verify(password), &credentials, challenge);
        }
        if self.passwords.is_recently_verified(stored, password, request.received.at_ms) {
            return CheckVerdict::Allow;
        }
        let (stored, passwords) = (stored.to_vec(), Arc::clone(&self.passwords));
        CheckVerdict::wait(async move |exchange| {
            let request = &exchange.request;
            let password = credentials.password().to_vec().into();
            let Ok(judgement) = passwords.judge(stored, password, request.received.at_ms).await else {
                request.log(LogLevel::Error, format_args!("{TOO_MANY}"));
                return CheckVerdict::Fail(503);
            };
            verdict(request, judgement, &credentials, challenge)
        })
    }

    fn explain(&self, _: &Request) -> (String, CheckVerdict) {
        ("would require a password; assumed to be correct".to_owned(), CheckVerdict::Allow)
    }

    /// Returns whether every client needs a password: the realm is constant and not `off`. A realm with variables may
    /// evaluate to `off`.
    fn identifies(&self) -> bool {
        self.realm.as_static().is_some_and(|realm| realm != b"off")
    }
}

impl AuthBasic {
    /// Returns the realm and the absolute path of the file for a request.
    fn texts(&self, exchange: &mut Exchange) -> Result<(Vec<u8>, Vec<u8>), EvalError> {
        let Exchange { request, frame } = exchange;
        let (mut realm, mut path) = (Vec::new(), Vec::new());
        self.realm.eval(request, frame, &mut realm)?;
        self.file.eval(request, frame, &mut path)?;
        if !path.starts_with(b"/") {
            let mut absolute = self.folder.to_vec();
            absolute.push(b'/');
            absolute.append(&mut path);
            path = absolute;
        }
        Ok((realm, path))
    }
}

fn verdict(
    request: &Request,
    judgement: PasswordMatch,
    who: &Credentials,
    challenge: Vec<u8>,
) -> CheckVerdict {
    let user = String::from_utf8_lossy(who.user());
    match judgement {
        PasswordMatch::Match => return CheckVerdict::Allow,
        PasswordMatch::Mismatch => {
            request.log(LogLevel::Error, format_args!("user \"{user}\": password mismatch"));
        }
        PasswordMatch::Unknown => {
            let known = "{PLAIN}, {SHA}, {SSHA}, crypt, $1$, $apr1$, $5$, $6$, $2y$";
            request.log(
                LogLevel::Error,
                format_args!("user \"{user}\": unsupported hash format of the stored password ({known})"),
            );
        }
    }
    CheckVerdict::Challenge(vec![challenge])
}

/// Returns the value of `WWW-Authenticate` (RFC 7617): the realm in quotes, without control characters, which would
/// terminate the line.
fn challenge(realm: &[u8]) -> Vec<u8> {
    let mut value = b"Basic realm=\"".to_vec();
    value.extend(realm.iter().filter(|byte| !byte.is_ascii_control()));
    value.push(b'"');
    value
}
