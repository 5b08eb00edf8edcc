//! Purges: any request is rejected or parsed to a purge that survives a round trip.
#![no_main]

use libfuzzer_sys::fuzz_target;
use myriad_http::Fields;
use myriad_policy::{Command, Subject, Tags, What, Wildcard, litespeed, wanted};

fuzz_target!(|input: (&[u8], &[u8], &[u8], u8)| {
    let (target, value, host, way) = input;
    let mut commands: Vec<Command> = Command::decode(target).into_iter().collect();
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
    commands.extend(wanted(target, host, &fields));
    commands.extend(What::url(target).map(Command::hard));
    for command in commands {
        let mut bytes = Vec::new();
        command.encode(&mut bytes);
        assert_eq!(Command::decode(&bytes), Some(command));
    }
    let subject = Subject::new(b"http", host, target);
    Wildcard::parse(value, host).covers(&subject);
    assert_eq!(subject.address()[1], subject.wanted_label());
    Tags::parse(value).names().for_each(|name| assert_ne!(Tags::label(name), Tags::OVERFLOWN));
});
