//! Arguments and cookies by name, nginx's `$arg_name` and `$cookie_name`.

/// The value of the first argument called `name`, in any case, as it was sent: not decoded.
pub fn arg<'a>(_query: &'a [u8], _name: &[u8]) -> Option<&'a [u8]> {
    None
}

/// The value of the first cookie called `name`, in any case, in one `Cookie` field.
pub fn cookie<'a>(_header: &'a [u8], _name: &[u8]) -> Option<&'a [u8]> {
    None
}
