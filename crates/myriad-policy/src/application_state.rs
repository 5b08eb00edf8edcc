//! `X-Myriad-State`: response field by which an application reports its state to Myriad.

use myriad_http::Fields;

/// Name, in lower case, of the response field in which an application reports its state. Clients do not receive it,
/// unless `*_pass_header` names it.
pub const STATE_FIELD: &[u8] = b"x-myriad-state";

/// State that an application reports with a response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ApplicationState {
    /// True if the application closed the site deliberately: its 503 is sent to the client, not a stale page instead.
    pub maintenance: bool,
    /// True if the response is truncated (generated incompletely): it is sent to the client and not stored.
    pub incomplete: bool,
    /// True if the page shows counters of visits: its decimal numbers may differ without a change of its content.
    pub counters: bool,
}

impl ApplicationState {
    /// Parses the words of the field [`STATE_FIELD`]: `maintenance`, `incomplete`, `counters`; other words are ignored.
    pub fn of(fields: &Fields) -> Self {
        let mut state = Self::default();
        for word in fields.get_all(STATE_FIELD).flat_map(|value| value.split(|byte| *byte == b',')) {
            match word.trim_ascii() {
                b"maintenance" => state.maintenance = true,
                b"incomplete" => state.incomplete = true,
                b"counters" => state.counters = true,
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
            (state.maintenance, state.incomplete, state.counters)
        };
        assert_eq!(state(&[]), (false, false, false));
        assert_eq!(state(&["maintenance"]), (true, false, false));
        assert_eq!(state(&["other, incomplete"]), (false, true, false));
        assert_eq!(state(&["incomplete", "maintenance"]), (true, true, false));
        assert_eq!(state(&["counters"]), (false, false, true));
        assert_eq!(state(&["maintenance-of-yesterday"]), (false, false, false));
    }
}
