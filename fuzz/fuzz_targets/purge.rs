//! Purges: any request is rejected or parsed to a purge that survives a round trip.
#![no_main]

use libfuzzer_sys::fuzz_target;
use myriad_http::Fields;
use myriad_policy::{PurgeCommand, PurgeSubject, PurgeTarget, Tags, Wildcard, litespeed, parse_purge};

fuzz_target!(|input: (&[u8], &[u8], &[u8], u8)| {
    let (target, value, host, way) = input;
    let mut commands: Vec<PurgeCommand> = PurgeCommand::decode(target).into_iter().collect();
    let mut fields = Fields::new();
    match way % 5 {
        0 => fields.push(b"X-Purge-Method", value),
        1 => {
            fields.push(b"X-Purge-Method", b"tags");
            fields.push(b"X-Cache-Tags-Pattern", value);
        }
        2 => fields.push(b"X-Purge-Regex", value),
        3 => fields.push(b"Surrogate-Key", value),
        _ => litespeed(value, host, &mut commands),
    }
    commands.extend(parse_purge(target, host, &fields));
    commands.extend(PurgeTarget::url(target).map(PurgeCommand::hard));
    for command in commands {
        let mut bytes = Vec::new();
        command.encode(&mut bytes);
        assert_eq!(PurgeCommand::decode(&bytes), Some(command));
    }
    let subject = PurgeSubject::new(b"http", host, target);
    Wildcard::parse(value, host).covers(&subject);
    assert_eq!(subject.address()[1], subject.label_to_purge());
    Tags::parse(value).names().for_each(|name| assert_ne!(Tags::label(name), Tags::OVERFLOWN));
});
