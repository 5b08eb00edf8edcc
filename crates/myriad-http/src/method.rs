//! Request methods (RFC 9110 §9), including those of WebDAV (RFC 4918) and `PURGE`.

/// Request method.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Method {
    /// `GET` (RFC 9110 §9.3.1).
    #[default]
    Get,
    /// `HEAD` (RFC 9110 §9.3.2).
    Head,
    /// `POST` (RFC 9110 §9.3.3).
    Post,
    /// `PUT` (RFC 9110 §9.3.4).
    Put,
    /// `DELETE` (RFC 9110 §9.3.5).
    Delete,
    /// `CONNECT` (RFC 9110 §9.3.6).
    Connect,
    /// `OPTIONS` (RFC 9110 §9.3.7).
    Options,
    /// `TRACE` (RFC 9110 §9.3.8).
    Trace,
    /// `PATCH` (RFC 5789).
    Patch,
    /// `PURGE`, which removes pages from a cache.
    Purge,
    /// `PROPFIND` (RFC 4918 §9.1).
    Propfind,
    /// `PROPPATCH` (RFC 4918 §9.2).
    Proppatch,
    /// `MKCOL` (RFC 4918 §9.3).
    Mkcol,
    /// `COPY` (RFC 4918 §9.8).
    Copy,
    /// `MOVE` (RFC 4918 §9.9).
    Move,
    /// `LOCK` (RFC 4918 §9.10).
    Lock,
    /// `UNLOCK` (RFC 4918 §9.11).
    Unlock,
    /// Any other method, whose name is in [`RequestHead::method_bytes`](crate::RequestHead::method_bytes).
    Other,
}

impl Method {
    /// Returns the method called `name`, or [`Method::Other`] for all other names. Names are case-sensitive (RFC 9110
    /// §9.1).
    #[inline]
    pub fn from_bytes(name: &[u8]) -> Self {
        match name {
            b"GET" => Self::Get,
            b"HEAD" => Self::Head,
            b"POST" => Self::Post,
            b"PUT" => Self::Put,
            b"DELETE" => Self::Delete,
            b"CONNECT" => Self::Connect,
            b"OPTIONS" => Self::Options,
            b"TRACE" => Self::Trace,
            b"PATCH" => Self::Patch,
            b"PURGE" => Self::Purge,
            b"PROPFIND" => Self::Propfind,
            b"PROPPATCH" => Self::Proppatch,
            b"MKCOL" => Self::Mkcol,
            b"COPY" => Self::Copy,
            b"MOVE" => Self::Move,
            b"LOCK" => Self::Lock,
            b"UNLOCK" => Self::Unlock,
            _ => Self::Other,
        }
    }

    /// Returns the name of the method; empty for [`Method::Other`].
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Delete => "DELETE",
            Self::Connect => "CONNECT",
            Self::Options => "OPTIONS",
            Self::Trace => "TRACE",
            Self::Patch => "PATCH",
            Self::Purge => "PURGE",
            Self::Propfind => "PROPFIND",
            Self::Proppatch => "PROPPATCH",
            Self::Mkcol => "MKCOL",
            Self::Copy => "COPY",
            Self::Move => "MOVE",
            Self::Lock => "LOCK",
            Self::Unlock => "UNLOCK",
            Self::Other => "",
        }
    }

    /// Returns whether the method is safe, that is read-only (RFC 9110 §9.2.1); false for [`Method::Other`].
    pub fn is_safe(self) -> bool {
        matches!(self, Self::Get | Self::Head | Self::Options | Self::Trace | Self::Propfind)
    }

    /// Returns whether the method is idempotent: repeating a request has no further effect (RFC 9110 §9.2.2). By
    /// default, only such requests are sent again to another server. False for [`Method::Other`].
    pub fn is_idempotent(self) -> bool {
        let idempotent_change = matches!(
            self,
            Self::Put
                | Self::Delete
                | Self::Purge
                | Self::Proppatch
                | Self::Mkcol
                | Self::Copy
                | Self::Move
                | Self::Unlock
        );
        self.is_safe() || idempotent_change
    }
}

/// All methods except [`Method::Other`], in order of declaration.
const NAMED: [Method; 17] = [
    Method::Get,
    Method::Head,
    Method::Post,
    Method::Put,
    Method::Delete,
    Method::Connect,
    Method::Options,
    Method::Trace,
    Method::Patch,
    Method::Purge,
    Method::Propfind,
    Method::Proppatch,
    Method::Mkcol,
    Method::Copy,
    Method::Move,
    Method::Lock,
    Method::Unlock,
];

/// Set of methods.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MethodSet(u32);

impl MethodSet {
    /// Creates a set that contains `methods`.
    pub const fn of(methods: &[Method]) -> Self {
        let (mut bits, mut index) = (0, 0);
        while index < methods.len() {
            bits |= 1 << methods[index] as u8;
            index += 1;
        }
        Self(bits)
    }

    /// Returns true if the set has no methods.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns true if the set contains `method`.
    pub const fn contains(self, method: Method) -> bool {
        self.0 & 1 << method as u8 != 0
    }

    /// Returns the set of the methods that are in `self` or in `other`.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Iterates over the methods in order of declaration, except [`Method::Other`].
    pub fn iter(self) -> impl Iterator<Item = Method> {
        NAMED.into_iter().filter(move |method| self.contains(*method))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_contains_the_methods_that_it_was_made_of() {
        let set =
            MethodSet::of(&[Method::Unlock, Method::Get]).union(MethodSet::of(&[Method::Put, Method::Other]));
        assert_eq!(set.iter().collect::<Vec<_>>(), [Method::Get, Method::Put, Method::Unlock]);
        assert!(set.contains(Method::Other) && !set.contains(Method::Head) && !set.is_empty());
        assert!(MethodSet::of(&[]).is_empty() && MethodSet::default().is_empty());
    }

    #[test]
    fn every_named_method_round_trips() {
        for method in NAMED {
            assert_eq!(Method::from_bytes(method.as_str().as_bytes()), method);
        }
    }

    #[test]
    fn methods_are_case_sensitive() {
        for method in NAMED {
            assert_eq!(Method::from_bytes(method.as_str().to_lowercase().as_bytes()), Method::Other);
        }
    }

    #[test]
    fn post_patch_and_lock_are_never_repeated() {
        let repeatable: Vec<_> = NAMED.into_iter().filter(|method| !method.is_idempotent()).collect();
        assert_eq!(repeatable, [Method::Post, Method::Connect, Method::Patch, Method::Lock]);
        assert!(!Method::Other.is_idempotent());
    }

    #[test]
    fn safe_methods_only_read() {
        let safe: Vec<_> = NAMED.into_iter().filter(|method| method.is_safe()).collect();
        assert_eq!(safe, [Method::Get, Method::Head, Method::Options, Method::Trace, Method::Propfind]);
    }
}
