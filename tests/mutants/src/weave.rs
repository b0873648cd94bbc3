//! All mutants of a source beside what they change, each behind its switch.

use std::collections::BTreeMap;

use anyhow::Context as _;
use proc_macro2::TokenStream;
use quote::{ToTokens as _, quote};
use syn::spanned::Spanned as _;
use syn::visit_mut::{self, VisitMut};
use syn::{BinOp, Block, Expr, Signature};

use crate::Numbered;
use crate::mutant::{Genre, Mutant, Place, Span};

/// The switch, at the end of a crate's first file.
pub(crate) const SWITCH: &str = r#"
#[doc(hidden)]
#[allow(missing_docs, clippy::all, clippy::disallowed_methods)]
pub mod woven {
    static ACTIVE: std::sync::LazyLock<u32> = std::sync::LazyLock::new(|| {
        std::env::var("SPEEDUP_MUTANT").ok().and_then(|number| number.parse().ok()).unwrap_or(0)
    });
    #[inline]
    pub fn on(mutant: u32) -> bool {
        *ACTIVE == mutant
    }
}
"#;

/// How a switch begins in a woven source; the number follows.
pub(crate) const SWITCH_CALL: &str = "crate :: woven :: on (";

/// A source with mutants woven into it.
pub(crate) struct Woven {
    /// The source.
    pub(crate) text: String,
    /// Those that are in it.
    pub(crate) numbers: Vec<u32>,
}

/// Weaves the mutants of one source into it. One whose place is not found, or cannot have a switch, is left out.
pub(crate) fn weave(source: &str, mutants: &[Numbered<'_>]) -> anyhow::Result<Woven> {
    let mut file = syn::parse_file(source).context("cannot parse the source")?;
    let mut by_start: BTreeMap<Place, Vec<Numbered<'_>>> = BTreeMap::new();
    for (number, mutant) in mutants {
        by_start.entry(mutant.span.start).or_default().push((*number, mutant));
    }
    let mut weaver = Weaver { by_start, numbers: Vec::new() };
    weaver.visit_file_mut(&mut file);
    Ok(Woven { text: file.to_token_stream().to_string(), numbers: weaver.numbers })
}

struct Weaver<'a> {
    by_start: BTreeMap<Place, Vec<Numbered<'a>>>,
    numbers: Vec<u32>,
}

fn span_of(span: proc_macro2::Span) -> Span {
    let place = |at: proc_macro2::LineColumn| Place { line: at.line, column: at.column + 1 };
    Span { start: place(span.start()), end: place(span.end()) }
}

impl Weaver<'_> {
    /// The mutants of a genre that change exactly this. A field is taken out with its comma.
    fn at(&self, span: Span, genre: Genre) -> Vec<(u32, Mutant)> {
        let here = self.by_start.get(&span.start).into_iter().flatten();
        let is_this =
            |mutant: &Mutant| mutant.genre == genre && (mutant.span == span || genre == Genre::StructField);
        here.filter(|(_, mutant)| is_this(mutant))
            .map(|(number, mutant)| (*number, (*mutant).clone()))
            .collect()
    }

    /// What counts if no mutant is on, behind what counts if one is.
    fn switched(&mut self, original: TokenStream, others: Vec<(u32, TokenStream)>) -> Option<Expr> {
        let is_whole = |other: &TokenStream| syn::parse2::<Expr>(other.clone()).is_ok();
        let others: Vec<_> = others.into_iter().filter(|(_, other)| is_whole(other)).collect();
        let numbers: Vec<u32> = others.iter().map(|(number, _)| *number).collect();
        let switched = others.into_iter().fold(original, |rest, (number, other)| {
            quote! { if crate::woven::on(#number) { #other } else { #rest } }
        });
        let switched = syn::parse2(quote! { ( #switched ) }).ok()?;
        self.numbers.extend(numbers);
        Some(switched)
    }

    fn weave_expr(&mut self, expr: &mut Expr, original: &Expr) {
        let mut others = Vec::new();
        match original {
            Expr::Binary(binary) if !has_let(original) => {
                for (number, mutant) in self.at(span_of(binary.op.span()), Genre::BinaryOperator) {
                    if let Ok(op) = syn::parse_str::<BinOp>(&mutant.replacement) {
                        let (left, right) = (&binary.left, &binary.right);
                        others.push((number, quote! { #left #op #right }));
                    }
                }
            }
            Expr::Unary(unary) => {
                for (number, _) in self.at(span_of(unary.op.span()), Genre::UnaryOperator) {
                    others.push((number, unary.expr.to_token_stream()));
                }
            }
            Expr::Struct(whole) => {
                for field in &whole.fields {
                    for (number, _) in self.at(span_of(field.span()), Genre::StructField) {
                        let mut lacking = whole.clone();
                        let others_of = |one: &&syn::FieldValue| one.member != field.member;
                        lacking.fields = whole.fields.iter().filter(others_of).cloned().collect();
                        if lacking.rest.is_some() && !lacking.fields.empty_or_trailing() {
                            lacking.fields.push_punct(Default::default());
                        }
                        others.push((number, lacking.to_token_stream()));
                    }
                }
            }
            _ => {}
        }
        if others.is_empty() {
            return;
        }
        if let Some(switched) = self.switched(expr.to_token_stream(), others) {
            *expr = switched;
        }
    }

    fn weave_function(&mut self, signature: &Signature, span: Option<Span>, block: &mut Block) {
        let constant = signature.constness.is_some();
        let hidden = signature.output.to_token_stream().to_string().contains("impl ");
        let Some(span) = span.filter(|_| !constant && !hidden) else { return };
        for (number, mutant) in self.at(span, Genre::FnValue) {
            let Ok(value) = syn::parse_str::<Expr>(&mutant.replacement) else { continue };
            if let Ok(early) = syn::parse2(quote! { if crate::woven::on(#number) { return #value; } }) {
                block.stmts.insert(0, early);
                self.numbers.push(number);
            }
        }
    }
}

/// From the first to the last statement of a block.
fn inside(block: &Block) -> Option<Span> {
    let (first, last) = (block.stmts.first()?, block.stmts.last()?);
    Some(Span { start: span_of(first.span()).start, end: span_of(last.span()).end })
}

/// Whether a condition binds something, and so cannot stand in parentheses.
fn has_let(expr: &Expr) -> bool {
    match expr {
        Expr::Let(_) => true,
        Expr::Binary(binary) => has_let(&binary.left) || has_let(&binary.right),
        _ => false,
    }
}

impl VisitMut for Weaver<'_> {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        let original = expr.clone();
        visit_mut::visit_expr_mut(self, expr);
        self.weave_expr(expr, &original);
    }

    fn visit_arm_mut(&mut self, arm: &mut syn::Arm) {
        let (span, original) = (span_of(arm.span()), arm.clone());
        visit_mut::visit_arm_mut(self, arm);
        if let Some((kept_if, guard)) = arm.guard.take() {
            let place = span_of(original.guard.as_ref().map_or(span_of_nothing(), |(_, guard)| guard.span()));
            let others = self.at(place, Genre::MatchArmGuard).into_iter().filter_map(|(number, mutant)| {
                Some((number, syn::parse_str::<Expr>(&mutant.replacement).ok()?.to_token_stream()))
            });
            let others: Vec<_> = others.collect();
            let woven = (!others.is_empty() && !has_let(&guard))
                .then(|| self.switched(guard.to_token_stream(), others))
                .flatten();
            arm.guard = Some((kept_if, woven.map_or(guard, Box::new)));
        }
        for (number, _) in self.at(span, Genre::MatchArm) {
            let rest = arm.guard.take().map(|(_, guard)| quote! { && ( #guard ) });
            if let Ok(guard) = syn::parse2::<Expr>(quote! { !crate::woven::on(#number) #rest }) {
                arm.guard = Some((Default::default(), Box::new(guard)));
                self.numbers.push(number);
            }
        }
    }

    fn visit_item_fn_mut(&mut self, function: &mut syn::ItemFn) {
        let span = inside(&function.block);
        visit_mut::visit_item_fn_mut(self, function);
        self.weave_function(&function.sig, span, &mut function.block);
    }

    fn visit_impl_item_fn_mut(&mut self, function: &mut syn::ImplItemFn) {
        let span = inside(&function.block);
        visit_mut::visit_impl_item_fn_mut(self, function);
        self.weave_function(&function.sig, span, &mut function.block);
    }
}

fn span_of_nothing() -> proc_macro2::Span {
    proc_macro2::Span::call_site()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "fn small(a: u32, b: u32) -> bool {\n    !(a < b) && b > 0\n}\n";

    fn mutant(genre: Genre, columns: (usize, usize), replacement: &str) -> Mutant {
        let place = |column| Place { line: 2, column };
        Mutant {
            name: format!("src/small.rs:2:{}: replace", columns.0),
            file: "src/small.rs".to_owned(),
            genre,
            span: Span { start: place(columns.0), end: place(columns.1) },
            replacement: replacement.to_owned(),
        }
    }

    fn plain(text: &str) -> String {
        text.split_whitespace().collect()
    }

    #[test]
    fn each_mutant_stands_behind_its_switch() {
        let mutants = [
            mutant(Genre::FnValue, (5, 22), "true"),
            mutant(Genre::BinaryOperator, (9, 10), "=="),
            mutant(Genre::UnaryOperator, (5, 6), ""),
            mutant(Genre::BinaryOperator, (14, 16), "||"),
            mutant(Genre::BinaryOperator, (14, 16), "nonsense"),
        ];
        let numbered: Vec<Numbered<'_>> = (1..).zip(&mutants).collect();
        let Woven { text, mut numbers } = weave(SOURCE, &numbered).expect("it is a source");
        numbers.sort_unstable();
        assert_eq!(numbers, [1, 2, 3, 4], "what is no operator is left out");
        syn::parse_file(&text).expect("the woven source is one");
        let switch = |number: u32| format!("ifcrate::woven::on({number}u32)");
        let less = format!("({}{{a==b}}else{{a<b}})", switch(2));
        let not = format!("({}{{(a<b)}}else{{!({less})}})", switch(3));
        let and = format!("({}{{!(a<b)||b>0}}else{{{not}&&b>0}})", switch(4));
        let expected = format!("fnsmall(a:u32,b:u32)->bool{{{}{{returntrue;}}{and}}}", switch(1));
        assert_eq!(plain(&text), expected);
    }

    #[test]
    fn one_mutant_is_applied_where_it_stands() {
        let changed = mutant(Genre::BinaryOperator, (14, 16), "||").apply(SOURCE);
        assert_eq!(
            changed.as_deref(),
            Some("fn small(a: u32, b: u32) -> bool {\n    !(a < b) || b > 0\n}\n")
        );
        let beyond = mutant(Genre::BinaryOperator, (99, 100), "||").apply(SOURCE);
        assert_eq!(beyond, None);
    }
}
