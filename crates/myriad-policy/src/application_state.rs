//! `X-Myriad-State`: state of an application, reported in its responses to an accelerator.

use myriad_http::Fields;

/// Name of the field, in lower case. Clients never receive it.
pub const STATE_FIELD: &[u8] = b"x-myriad-state";

/// State of an application.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ApplicationState {
    /// The application closed the site deliberately: its 503 is shown, and no stale page replaces it.
    pub maintenance: bool,
    /// The response stops before it is complete: it is forwarded and not stored.
    pub incomplete: bool,
}

impl ApplicationState {
    /// Parses the words of the field: `maintenance`, `incomplete`; other words are ignored.
    pub fn of(fields: &Fields) -> Self {
        let mut state = Self::default();
        for word in fields.get_all(STATE_FIELD).flat_map(|value| value.split(|byte| *byte == b',')) {
            match word.trim_ascii() {
                b"maintenance" => state.maintenance = true,
                b"incomplete" => state.incomplete = true,
                _ => {}
            }
        }
        state
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_in_one_field_or_several() {
        let state = |values: &[&str]| {
            let fields: Fields = values.iter().map(|value| ("X-Myriad-State", *value)).collect();
            let state = ApplicationState::of(&fields);
            (state.maintenance, state.incomplete)
        };
        assert_eq!(state(&[]), (false, false));
        assert_eq!(state(&["maintenance"]), (true, false));
        assert_eq!(state(&["other, incomplete"]), (false, true));
        assert_eq!(state(&["incomplete", "maintenance"]), (true, true));
        assert_eq!(state(&["maintenance-of-yesterday"]), (false, false));
    }
}
