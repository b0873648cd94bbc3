//! The report as a LaTeX document of its own, for `pdflatex`: text, tables with `booktabs` and `longtable`, and drawings with
//! TikZ, so that nothing else has to be run and no other file is needed. Letters that its usual fonts lack are named by their code points.

mod picture;

use speedup_core::value::foreign::without_commands;

use crate::document::{Align, Document, Element, Kind, Section, Table};

/// Before the text. Tables are wide, so the page lies on its side.
const PREAMBLE: &str = r"\documentclass[10pt,a4paper]{article}
\usepackage[utf8]{inputenc}
\usepackage[T1]{fontenc}
\usepackage{textcomp}
\usepackage[landscape,margin=18mm]{geometry}
\usepackage{booktabs}
\usepackage{longtable}
\usepackage{array}
\setlength{\parindent}{0pt}
\setlength{\parskip}{4pt}
\setlength{\LTleft}{0pt}
\setlength{\tabcolsep}{4pt}
\sloppy
";
/// Characters of a name before it is broken into lines.
const LONG_NAME: usize = 32;

/// The whole document.
pub fn document(document: &Document) -> String {
    let mut text = format!("{PREAMBLE}{}\\begin{{document}}\n", picture::PREAMBLE);
    text += &format!("\\section*{{{}}}\n", escaped(&document.title));
    for section in &document.sections {
        write(&mut text, section);
    }
    text += "\\end{document}\n";
    // LaTeX has no glyph for the replacement character that breaks up workflow commands.
    without_commands(&text).replace(char::REPLACEMENT_CHARACTER, "{}")
}

fn write(text: &mut String, section: &Section) {
    if section.kind != Kind::Head {
        *text += &format!("\n\\subsection*{{{}}}\n", escaped(&section.heading));
    }
    for run in section.blocks.chunk_by(|a, b| matches!((a, b), (Element::Item(_), Element::Item(_)))) {
        match &run[0] {
            Element::Paragraph { text: words, .. } | Element::Verdict { text: words, .. } => {
                *text += &format!("{}\\par\n", escaped(words));
            }
            Element::Item(_) => list(text, run),
            Element::Command(line) => *text += &format!("\\texttt{{{}}}\\par\n", escaped(line)),
            Element::Table(of) => table(text, of),
            Element::Figure(figure) => *text += &picture::drawn(figure),
        }
    }
}

fn list(text: &mut String, items: &[Element]) {
    *text += "\\begin{itemize}\\setlength{\\itemsep}{0pt}\n";
    for item in items {
        if let Element::Item(words) = item {
            // Braces: an item that begins with a bracket is no label.
            *text += &format!("\\item {{}}{}\n", escaped(words));
        }
    }
    *text += "\\end{itemize}\n";
}

fn table(text: &mut String, table: &Table) {
    let mut columns = String::new();
    for (at, column) in table.columns.iter().enumerate() {
        let longest = table.rows.iter().map(|row| row.fields[at].text.chars().count()).max().unwrap_or(0);
        // A long name is broken into lines, or the table would be wider than the page.
        columns += match column.align {
            Align::Left if longest > LONG_NAME => ">{\\raggedright\\arraybackslash}p{50mm}",
            Align::Left => "l",
            Align::Right => "r",
        };
    }
    *text += &format!("{{\\footnotesize\n\\begin{{longtable}}{{@{{}}{columns}@{{}}}}\n\\toprule\n");
    *text += &table_line(table.columns.iter().map(|column| escaped(&column.short)));
    *text += "\\midrule\n\\endhead\n";
    for row in &table.rows {
        *text += &table_line(row.fields.iter().map(|field| escaped(&field.text)));
        if let Some(note) = row.note.as_ref().filter(|note| !note.is_empty()) {
            let wide = table.columns.len();
            *text += &format!(
                "\\multicolumn{{{wide}}}{{@{{}}p{{200mm}}@{{}}}}{{\\quad {}}} \\\\\n",
                escaped(note)
            );
        }
    }
    *text += "\\bottomrule\n\\end{longtable}}\n";
    let legend: Vec<&str> = table.legend.iter().map(|part| part.text.as_str()).collect();
    *text += &format!("{}\\par\n", escaped(&legend.join(" ")));
}

/// Braces before the first cell: a bracket in it would be taken for an argument of the line before.
fn table_line(cells: impl Iterator<Item = String>) -> String {
    format!("{{}}{} \\\\\n", cells.collect::<Vec<_>>().join(" & "))
}

/// Text that means nothing but itself.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + 16);
    text.chars().for_each(|c| push(&mut escaped, c));
    escaped
}

fn push(text: &mut String, c: char) {
    let command = match c {
        '\\' => "\\textbackslash{}",
        '{' => "\\{",
        '}' => "\\}",
        '$' => "\\$",
        '&' => "\\&",
        '#' => "\\#",
        '%' => "\\%",
        '~' => "\\textasciitilde{}",
        '^' => "\\textasciicircum{}",
        '<' => "\\textless{}",
        '>' => "\\textgreater{}",
        '|' => "\\textbar{}",
        '"' => "\\textquotedbl{}",
        '\'' => "\\textquotesingle{}",
        '`' => "\\textasciigrave{}",
        // Where a long name may be broken.
        '_' => "\\_\\allowbreak{}",
        '/' => "/\\allowbreak{}",
        // One after the other they would be a dash.
        '-' => "-{}",
        ',' => ",{}",
        '\u{a0}' => "~",
        '×' => "\\texttimes{}",
        '±' => "\\textpm{}",
        '−' => "$-$",
        '–' => "\\textendash{}",
        '—' => "\\textemdash{}",
        '…' => "\\dots{}",
        '“' => "\\textquotedblleft{}",
        '”' => "\\textquotedblright{}",
        '‘' => "\\textquoteleft{}",
        '’' => "\\textquoteright{}",
        'µ' | 'μ' => "\\textmu{}",
        '≤' => "$\\leq$",
        '≥' => "$\\geq$",
        '≠' => "$\\neq$",
        '≈' => "$\\approx$",
        '√' => "$\\surd$",
        '∞' => "$\\infty$",
        '→' => "$\\rightarrow$",
        '←' => "$\\leftarrow$",
        '·' => "\\textperiodcentered{}",
        '′' => "$'$",
        '²' => "\\texttwosuperior{}",
        '³' => "\\textthreesuperior{}",
        '¹' => "\\textonesuperior{}",
        '°' => "\\textdegree{}",
        '§' => "\\S{}",
        '\u{302}' => "\\^{}",
        c => return push_letter(text, c),
    };
    text.push_str(command);
}

fn push_letter(text: &mut String, c: char) {
    /// Letters, each with the name of its command.
    const GREEK: &str = "αalpha βbeta γgamma δdelta εvarepsilon ζzeta ηeta θtheta κkappa λlambda νnu ξxi \
        πpi ρrho σsigma τtau φvarphi χchi ψpsi ωomega ΔDelta ΣSigma ΦPhi ΩOmega";
    if let Some(name) = GREEK.split(' ').find_map(|letter| letter.strip_prefix(c)) {
        *text += &format!("$\\{name}$");
        return;
    }
    match c {
        // Subscripts of formulas: ₀ to ₉.
        '\u{2080}'..='\u{2089}' => *text += &format!("$_{}$", u32::from(c) - 0x2080),
        ' '..='~' => text.push(c),
        // What T1 has of Latin-1 and Latin Extended-A; the last two letters of the latter it has not.
        'À'..='ÿ' | 'Ā'..='ž' if has_t1(c) => text.push(c),
        c => *text += &format!("[U+{:04X}]", u32::from(c)),
    }
}

/// Letters of the two blocks that LaTeX's `utf8` does not declare for T1.
fn has_t1(c: char) -> bool {
    !matches!(c, 'Ħ' | 'ħ' | 'ĸ' | 'ŉ' | 'Ŀ' | 'ŀ' | 'Ŧ' | 'ŧ' | 'ſ')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_means_itself() {
        assert_eq!(escaped(r"50% & $x_1$ #2"), r"50\% \& \$x\_\allowbreak{}1\$ \#2");
        assert_eq!(
            escaped(r"\input{/etc}~^"),
            r"\textbackslash{}input\{/\allowbreak{}etc\}\textasciitilde{}\textasciicircum{}"
        );
        assert_eq!(escaped("F̂ α −1"), r"F\^{} $\alpha$ $-$1");
        assert_eq!(escaped("größe 速"), "größe [U+901F]");
        assert_eq!(escaped("--"), "-{}-{}");
    }
}
