//! Macro that creates the setter of a directive with one argument that sets one field.

/// Creates a setter that assigns the first argument to a field. `set!(Settings.flag => client.tcp_nodelay)` parses it
/// by [`Arguments::flag`](crate::registry::Arguments::flag); `Some` before the field wraps the value. `Feature<T>` as
/// part sets a field of a feature's settings; `Own<T>` a field of a protocol's settings, or of those that a feature
/// stores per protocol.
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
