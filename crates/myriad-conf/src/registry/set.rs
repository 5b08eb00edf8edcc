//! The macro for rows whose one argument goes to one field.

/// `set!(Settings.flag => client.tcp_nodelay)`: the one argument, read by that method of [`Arguments`], goes to that field.
/// `set!(Feature<Autoindex>.flag => on)`: the field is one of a feature's settings.
/// `set!(Own<Environment>.text => index)`: the field is one of a protocol's own settings, or of those that a feature keeps for each
/// protocol.
#[macro_export]
macro_rules! set {
    (Feature<$feature:ty>.$read:ident => $($field:ident).+) => {
        $crate::registry::Set::Settings(|settings, args| {
            settings.feature_mut::<$feature>().$($field).+ = args.$read(0)?;
            Ok(())
        })
    };
    (Feature<$feature:ty>.$read:ident => Some $($field:ident).+) => {
        $crate::registry::Set::Settings(|settings, args| {
            settings.feature_mut::<$feature>().$($field).+ = Some(args.$read(0)?);
            Ok(())
        })
    };
    (Own<$own:ty>.$read:ident => $($field:ident).+) => {
        $crate::registry::Set::Origin(|origin, args| {
            origin.own_mut::<$own>().$($field).+ = args.$read(0)?;
            Ok(())
        })
    };
    (Own<$own:ty>.$read:ident => Some $($field:ident).+) => {
        $crate::registry::Set::Origin(|origin, args| {
            origin.own_mut::<$own>().$($field).+ = Some(args.$read(0)?);
            Ok(())
        })
    };
    ($part:ident . $read:ident => $($field:ident).+) => {
        $crate::registry::Set::$part(|conf, args| {
            conf.$($field).+ = args.$read(0)?;
            Ok(())
        })
    };
    ($part:ident . $read:ident => Some $($field:ident).+) => {
        $crate::registry::Set::$part(|conf, args| {
            conf.$($field).+ = Some(args.$read(0)?);
            Ok(())
        })
    };
}
