//! Parsing of access log lines that are JSON objects, whose members may have various names.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::log_stats::logged_request::{LogField, LoggedRequest};

/// Parses an access log line that is a JSON object; `None` for other lines. Uses the members with names that are usual
/// in access logs, such as `status`; ignores others, and values that are neither strings nor numbers. Durations are
/// expected in seconds.
pub fn read_object(line: &str) -> Option<LoggedRequest<'_>> {
    serde_json::from_str::<Members<'_>>(line).ok().map(|members| members.0)
}

struct Members<'a>(LoggedRequest<'a>);

/// Value of a member: a string or number as text, or another type.
enum MemberValue<'a> {
    Text(Cow<'a, str>),
    Other,
}

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MembersVisitor;
        impl<'de> Visitor<'de> for MembersVisitor {
            type Value = Members<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut visit = LoggedRequest::default();
                while let Some(MemberValue::Text(name)) = map.next_key()? {
                    match (LogField::from_name(&name), map.next_value()?) {
                        (field, MemberValue::Text(Cow::Borrowed(text))) => {
                            visit.set(field, Cow::Borrowed(text.as_bytes()));
                        }
                        (field, MemberValue::Text(Cow::Owned(text))) => {
                            visit.set(field, Cow::Owned(text.into_bytes()));
                        }
                        (_, MemberValue::Other) => {}
                    }
                }
                Ok(Members(visit))
            }
        }
        deserializer.deserialize_map(MembersVisitor)
    }
}

impl<'de> Deserialize<'de> for MemberValue<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ValueVisitor;
        impl<'de> Visitor<'de> for ValueVisitor {
            type Value = MemberValue<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(MemberValue::Text(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(MemberValue::Text(Cow::Owned(text.to_owned())))
            }
            fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
                Ok(MemberValue::Text(Cow::Owned(number.to_string())))
            }
            fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
                Ok(MemberValue::Text(Cow::Owned(number.to_string())))
            }
            fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
                Ok(MemberValue::Text(Cow::Owned(number.to_string())))
            }
            fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
                Ok(MemberValue::Other)
            }
            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(MemberValue::Other)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                while list.next_element::<IgnoredAny>()?.is_some() {}
                Ok(MemberValue::Other)
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(MemberValue::Other)
            }
        }
        deserializer.deserialize_any(ValueVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_known_by_their_usual_names() {
        let line = r#"{"time":"2026-11-24T17:07:09+00:00","remote_addr":"::1","host":"a.test","uri":"/\"x","status":404,
            "body_bytes_sent":12,"request_time":0.25,"cache_status":"HIT","user_agent":"curl","more":{"a":[1,{}]},"n":null}"#;
        let visit = read_object(line).expect("an object");
        assert_eq!((visit.time_s, visit.status, visit.bytes), (Some(1_795_540_029), Some(404), 12));
        assert_eq!((&*visit.uri, visit.took_us), (&b"/\"x"[..], Some(250_000)));
        assert_eq!(visit.cache.as_deref(), Some(&b"HIT"[..]));
    }

    #[test]
    fn what_is_no_object_is_none() {
        for wrong in ["", "{", "[]", "1", "{\"a\":}", "{\"a\":1}x"] {
            assert!(read_object(wrong).is_none(), "{wrong}");
        }
        let deep = format!("{{\"a\":{}}}", "[".repeat(100_000));
        assert!(read_object(&deep).is_none());
    }
}
