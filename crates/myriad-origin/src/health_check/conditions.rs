//! Evaluation of health check responses.

use myriad_exchange::exchange::Exchange;
use myriad_http::ResponseHead;
use myriad_script::{Regex, Template};

/// Conditions of a healthy response. Without `match`, any status from 200 to 399 is healthy.
#[derive(Default)]
pub(super) struct HealthConditions {
    /// Conditions that a healthy response must all meet; `None` without `match`.
    rules: Option<Vec<HealthRule>>,
}

/// Single condition of a healthy response. A bool in a variant is false for the negated condition.
pub(super) enum HealthRule {
    /// The status is in one of these inclusive ranges, or in none of them if the bool is false.
    Status(bool, Vec<(u16, u16)>),
    /// Condition of the header field with this name.
    Field(Box<[u8]>, FieldRule),
    /// The start of the body matches the pattern, or does not match if the bool is false.
    Body(bool, Regex),
    /// These variables are neither empty nor `0`.
    Required(Vec<(Box<str>, Template)>),
}

/// Condition of a header field. The bool in each variant is false for the negated condition.
pub(super) enum FieldRule {
    /// The field is present, or absent if the bool is false.
    Present(bool),
    /// The value equals this text, or does not if the bool is false.
    Equals(bool, Box<[u8]>),
    /// The value matches a pattern, or does not if the bool is false.
    Matches(bool, Regex),
}

impl HealthConditions {
    pub(super) fn of(rules: Vec<HealthRule>) -> Self {
        Self { rules: Some(rules) }
    }

    fn rules(&self) -> &[HealthRule] {
        self.rules.as_deref().unwrap_or_default()
    }

    /// Returns whether a condition applies to the response body.
    pub(super) fn reads_body(&self) -> bool {
        self.rules().iter().any(|rule| matches!(rule, HealthRule::Body(..)))
    }

    /// Evaluates the conditions of status and fields; the error explains why the server is unhealthy.
    pub(super) fn check_head(&self, head: &ResponseHead) -> Result<(), String> {
        let status = head.status;
        if self.rules.is_none() && !(200..400).contains(&status) {
            return Err(format!("it responded with status {status}"));
        }
        for rule in self.rules() {
            match rule {
                HealthRule::Status(is_wanted, ranges)
                    if ranges.iter().any(|(low, high)| (*low..=*high).contains(&status)) != *is_wanted =>
                {
                    return Err(format!("it responded with status {status}"));
                }
                HealthRule::Field(name, rule) if !rule.is_satisfied(name, head) => {
                    let name = name.escape_ascii();
                    return Err(format!("its header field \"{name}\" does not satisfy \"match\""));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Evaluates the conditions of the body; `body` may be only the start of a long body. The error explains why the
    /// server is unhealthy.
    pub(super) fn check_body(&self, body: &[u8]) -> Result<(), String> {
        for rule in self.rules() {
            if let HealthRule::Body(fits, pattern) = rule
                && pattern.is_match(body).is_ok_and(|matched| matched) != *fits
            {
                return Err(format!("its body does not satisfy \"match\": \"{}\"", pattern.as_str()));
            }
        }
        Ok(())
    }

    /// Evaluates the conditions of variables (`require`). The caller must have stored the response head in `exchange`.
    /// The error explains why the server is unhealthy.
    pub(super) fn check_variables(&self, exchange: &mut Exchange) -> Result<(), String> {
        for rule in self.rules() {
            let HealthRule::Required(required) = rule else { continue };
            for (name, template) in required {
                let Exchange { request, frame } = &mut *exchange;
                let mut value = Vec::new();
                let is_known = template.eval(request, frame, &mut value).is_ok();
                if !is_known || value.is_empty() || value == b"0" {
                    return Err(format!("{name} is empty or 0"));
                }
            }
        }
        Ok(())
    }
}

impl FieldRule {
    /// Returns whether the field satisfies the condition. One matching value of a repeated field is sufficient; a
    /// negated condition requires that no value matches.
    fn is_satisfied(&self, name: &[u8], head: &ResponseHead) -> bool {
        let mut values = head.fields.get_all(name);
        match self {
            Self::Present(is_there) => values.next().is_some() == *is_there,
            Self::Equals(is, wanted) => values.any(|value| *value == **wanted) == *is,
            Self::Matches(fits, pattern) => {
                values.any(|value| pattern.is_match(value).is_ok_and(|matched| matched)) == *fits
            }
        }
    }
}
