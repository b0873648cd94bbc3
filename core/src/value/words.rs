//! Enums whose variants each have a word in plans, reports, tables or requests.

/// Declares an enum whose variants each stand beside their word: `Host = "host",`. After it stands what reads the words, with
/// the visibility of the enum: `fn name;` for a function of that name, `fn name(&self);` where variants have fields, or
/// `impl Trait::name;` for that function of a trait. `const ALL;` is for all variants in their order, and alone it needs no words.
#[macro_export]
macro_rules! words {
    // The enum is declared by the last rule; these make, one after another, what was asked for behind it.
    (with [$vis:vis $name:ident $($variant:ident $($word:literal)?)+]) => {};
    (with [$vis:vis $name:ident $($variant:ident $($word:literal)?)+] $(#[$about:meta])* const ALL;) => {
        impl $name {
            $(#[$about])*
            $vis const ALL: [Self; [$(Self::$variant),+].len()] = [$(Self::$variant),+];
        }
    };
    (with [$vis:vis $name:ident $($variant:ident $word:literal)+] $(#[$about:meta])* fn $function:ident; $($more:tt)*) => {
        impl $name {
            $(#[$about])*
            $vis const fn $function(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }
        $crate::words!(with [$vis $name $($variant $word)+] $($more)*);
    };
    (with [$vis:vis $name:ident $($variant:ident $word:literal)+] $(#[$about:meta])* fn $function:ident(&self);) => {
        impl $name {
            $(#[$about])*
            $vis const fn $function(&self) -> &'static str {
                match self {
                    $(Self::$variant { .. } => $word,)+
                }
            }
        }
    };
    (with [$vis:vis $name:ident $($variant:ident $word:literal)+] impl $trait:ident::$function:ident; $($more:tt)*) => {
        impl $trait for $name {
            fn $function(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }
        $crate::words!(with [$vis $name $($variant $word)+] $($more)*);
    };
    (
        $(#[$about:meta])*
        $vis:vis enum $name:ident {
            $($(#[$means:meta])* $variant:ident $({ $($fields:tt)* })? $(( $($held:tt)* ))? $(= $word:literal)?,)+
        }
        $($more:tt)+
    ) => {
        $(#[$about])*
        $vis enum $name {
            $($(#[$means])* $variant $({ $($fields)* })? $(( $($held)* ))?,)+
        }
        $crate::words!(with [$vis $name $($variant $($word)?)+] $($more)+);
    };
}

#[cfg(test)]
mod tests {
    trait Spoken {
        fn spoken(self) -> &'static str;
    }

    crate::words! {
        #[derive(Clone, Copy, Debug, PartialEq)]
        enum Side {
            Left = "left-hand",
            Right = "right-hand",
        }
        fn word;
        impl Spoken::spoken;
        const ALL;
    }

    crate::words! {
        enum End {
            Exit(u8) = "exit",
            Signal { number: u8 } = "signal",
        }
        fn code(&self);
    }

    #[test]
    fn every_variant_has_its_word() {
        assert_eq!(Side::ALL, [Side::Left, Side::Right]);
        assert_eq!(Side::ALL.map(Side::word), ["left-hand", "right-hand"]);
        assert_eq!(Side::Right.spoken(), "right-hand");
        let ends = [End::Exit(1), End::Signal { number: 9 }];
        assert!(
            matches!(ends, [End::Exit(1), End::Signal { number: 9 }]),
            "fields are as they were declared"
        );
        assert_eq!(ends.each_ref().map(End::code), ["exit", "signal"]);
    }
}
