//! Macro for rows with one argument that sets one field.

/// `set!(Settings.flag => client.tcp_nodelay)`: assigns the argument, parsed by that method of [`Arguments`], to the
/// field. `set!(Feature<Autoindex>.flag => on)`: the field belongs to the settings of a feature.
/// `set!(Own<Environment>.text => index)`: the field belongs to the settings of a protocol, or to those that a feature
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
