//! Caliper: the format `json-split`, of its profiles and its queries.
//!
//! A row is a region of the program, called by the way to it, on a rank where the rows tell. Each column of numbers is a metric. A
//! profile is of one process or job, so it is one observation of each.

use crate::{
    AtNode, Collection, FileProblem, Json, Misfit, Name, SeriesName, SeriesUnit, WALL, bounds::MAX_NESTING,
};

/// Columns that measure nothing: the order of the regions, and the process.
const ORDER: &str = "Node order";
const RANKS: [&str; 2] = ["mpi.rank", "rank"];

pub(crate) fn collect(document: &Json<'_>) -> Result<Collection, Misfit> {
    let mut collection = Collection::default();
    collection.tool_version = document.fact("cali.caliper.version");
    let columns = document.field("columns")?.list()?;
    let metadata = document.field("column_metadata")?.list()?;
    let nodes = document.field("nodes")?.list()?;
    for row in document.field("data")?.list()? {
        let cells = row.list()?;
        if cells.len() != columns.len() {
            return Err(row.misfit(FileProblem::RowLength { fields: cells.len(), header: columns.len() }));
        }
        let mut name = None;
        let mut rank = None;
        for (column, cell) in columns.iter().zip(cells) {
            match column.text()? {
                _ if matches!(cell, Json::Null) => {}
                "path" => name = Some(SeriesName::wall(path_of(cell, nodes)?)),
                column if RANKS.contains(&column) => rank = Some((Name::of("rank"), cell.word()?)),
                _ => {}
            }
        }
        // Time outside of every region is reported without a path.
        let Some(mut name) = name else { continue };
        name.labels.extend(rank);
        for ((column, about), cell) in columns.iter().zip(metadata).zip(cells) {
            let is_number = matches!(cell, Json::Number(_) | Json::NotFinite(_));
            let is_value = is_number && about.get("is_value").is_some_and(Json::is_true);
            let column = column.name()?;
            if !is_value || column.as_str() == ORDER || RANKS.contains(&column.as_str()) {
                continue;
            }
            // The exclusive time of the profiles.
            let metric = if column.as_str() == "time" { Name::of(WALL) } else { column };
            let unit = about.fact("attribute.unit");
            let unit = unit.map_or((SeriesUnit::Bare, 0), |unit| SeriesUnit::of_word(&unit));
            let series = collection.distinct(name.with_metric(metric)).at_node(row)?.in_unit(unit);
            collection.push_json(&series, 0, cell)?;
        }
    }
    Ok(collection)
}

/// The labels on the way to a node, outermost first. A node stands behind its parent, so there is no circle.
fn path_of(cell: &Json<'_>, nodes: &[Json<'_>]) -> Result<Name, Misfit> {
    let mut labels = Vec::new();
    let mut reference = Some(cell);
    let mut end = nodes.len();
    while let Some(number) = reference {
        let index = number.word()?.as_str().parse().unwrap_or(end);
        if index >= end || labels.len() == MAX_NESTING {
            return Err(number.expected("a node before this one, at most 64 deep"));
        }
        labels.push(nodes[index].field("label")?.text()?);
        reference = nodes[index].get("parent");
        end = index;
    }
    labels.reverse();
    Name::new(labels.join("/")).at_node(cell)
}
