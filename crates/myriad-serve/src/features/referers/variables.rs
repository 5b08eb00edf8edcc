//! Variable `$invalid_referer`.

use std::cell::RefCell;

use myriad_exchange::exchange::Request;
use myriad_exchange::exchange::variables::RequestVariable;
use myriad_exchange::runtime::Reads::FromField;
use myriad_exchange::runtime::RowValue::Run;
use myriad_http::Known;
use myriad_script::{EvalError, Frame};

use super::valid_referers::ValidReferers;

/// `$invalid_referer`: `1` if the request's `Referer` is not valid according to `valid_referers`; otherwise, and
/// without the directive, empty.
pub(crate) const VARIABLES: &[RequestVariable] = &[RequestVariable::new(
    "referer",
    "invalid_referer",
    &[FromField(Known::Referer)],
    Run(|request, _, out| {
        if !referer_is_valid(request)? {
            out.push(b'1');
        }
        Ok(true)
    }),
)];

thread_local! {
    /// Frame for the captures of referer regexes: as in nginx, these captures do not change those of the rules.
    static REFERER_FRAME: RefCell<Frame> = RefCell::new(Frame::new());
}

fn referer_is_valid(request: &Request) -> Result<bool, EvalError> {
    let Some(referers) = request.place().features.get::<ValidReferers>() else { return Ok(true) };
    let sent = request.received.head.known(Known::Referer);
    REFERER_FRAME.with_borrow_mut(|frame| referers.is_valid(sent, frame))
}

#[cfg(test)]
mod tests {
    use crate::testing::variables::{VariableCase, variable_value};

    #[test]
    fn a_referer_is_invalid_where_the_place_does_not_name_it() {
        let invalid = |server: &str, referer: &str| {
            let fields = [("Referer", referer)];
            variable_value(
                &mut VariableCase { server, fields: &fields, ..VariableCase::default() }.begin(),
                "invalid_referer",
            )
        };
        assert_eq!(invalid("", "http://b.example/").as_deref(), Some(""));
        assert_eq!(invalid("valid_referers b.example;", "http://b.example/").as_deref(), Some(""));
        assert_eq!(invalid("valid_referers b.example;", "http://c.example/").as_deref(), Some("1"));
    }
}
