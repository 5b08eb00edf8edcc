//! Variables `$bot*`.

use std::sync::Arc;

use myriad_conf::registry::DirectiveStatus;
use myriad_exchange::exchange::variables::RequestVariable;
use myriad_exchange::exchange::{Request, VisitorClasses};
use myriad_exchange::runtime::Reads;
use myriad_exchange::runtime::RowValue::Made;
use myriad_http::Known;

use super::list::{BotList, BotMatch};

/// Inputs of the variables. `Purpose`, `Sec-Purpose` and `X-Moz` are read as well, but need not be listed: requests
/// whose routing reads a variable that depends on the connection never use the shortcut.
const READS: &[Reads] = &[Reads::FromField(Known::UserAgent), Reads::Connection];

/// Variables with the classification of the client. Maps with the same names in existing configurations take
/// precedence.
pub(super) const VARIABLES: &[RequestVariable] = &[
    RequestVariable::new("shield", "bot", READS, Made(class)).with_status(DirectiveStatus::Own).yielding(),
    RequestVariable::new("shield", "bot_name", READS, Made(name))
        .with_status(DirectiveStatus::Own)
        .yielding(),
    RequestVariable::new("shield", "bot_verified", READS, Made(verified))
        .with_status(DirectiveStatus::Own)
        .yielding(),
];

fn find(request: &Request) -> Option<BotMatch<'_>> {
    find_in(list(request), request)
}

fn list(request: &Request) -> &BotList {
    match request.place().features.get::<Arc<BotList>>() {
        Some(list) => list,
        None => BotList::builtin(),
    }
}

fn find_in<'a>(list: &'a BotList, request: &Request) -> Option<BotMatch<'a>> {
    let agent = request.received.head.fields().known(Known::UserAgent).unwrap_or_default();
    list.find(agent, request.client())
}

fn class(request: &Request, out: &mut Vec<u8>) -> bool {
    let class = class_in(list(request), request);
    out.extend_from_slice(class);
    !class.is_empty()
}

/// Classification of requests for their counts per class, by the list of the configuration. A class is a value of
/// `$bot`, empty for a regular client.
pub(super) struct ConfiguredClasses(pub(super) Arc<BotList>);

/// Classification of requests for their counts per class, by the built-in list.
pub(super) struct BuiltinClasses;

impl VisitorClasses for ConfiguredClasses {
    fn class<'a>(&'a self, request: &'a Request) -> &'a [u8] {
        class_in(&self.0, request)
    }
}

impl VisitorClasses for BuiltinClasses {
    fn class<'a>(&'a self, request: &'a Request) -> &'a [u8] {
        class_in(BotList::builtin(), request)
    }
}

fn class_in<'a>(list: &'a BotList, request: &Request) -> &'a [u8] {
    match find_in(list, request) {
        Some(bot) => bot.class,
        None if is_prefetch(request) => b"prefetch",
        None => b"",
    }
}

/// Returns whether a browser prefetches the response, so that no person waits for it: `Purpose`, `Sec-Purpose` or
/// `X-Moz` contains `prefetch`. The function iterates over the fields only once, because it runs for every request.
fn is_prefetch(request: &Request) -> bool {
    let mentions_prefetch = |value: &[u8]| value.windows(8).any(|part| part == b"prefetch");
    request.received.head.fields().iter_known().any(|(known, name, value)| match known {
        Some(Known::Purpose) => mentions_prefetch(value),
        Some(_) => false,
        None => {
            (name.eq_ignore_ascii_case(b"Sec-Purpose") || name.eq_ignore_ascii_case(b"X-Moz"))
                && mentions_prefetch(value)
        }
    })
}

fn name(request: &Request, out: &mut Vec<u8>) -> bool {
    let name = find(request).map_or(&b""[..], |bot| bot.name);
    out.extend_from_slice(name);
    !name.is_empty()
}

fn verified(request: &Request, out: &mut Vec<u8>) -> bool {
    let verified = find(request).and_then(|bot| bot.verified);
    out.extend(verified.map(|verified| if verified { b'1' } else { b'0' }));
    verified.is_some()
}
