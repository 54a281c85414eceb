//! The attributes of a resource in a plan: each value that is not a list or a map, by its path.

use std::collections::BTreeSet;

use cts_core::hidden::hides_attribute;
use cts_core::{IgnoredPaths, PathStep};
use cts_proto::run::v1::planned_value::Value as Shown;
use cts_proto::run::v1::{PlannedAttribute, PlannedValue};
use serde::Deserialize as _;
use serde_json::value::RawValue;
use serde_json::{Error, Value};
use unicode_ident::{is_xid_continue, is_xid_start};

use super::context::PlanContext;
use super::format::Change;
use super::json::{Shape, encode, encode_except, has_mark, is_true, leaf, text};
use super::secrets::Secrets;

/// The values at one path, with their marks.
type Sides<'v> = [Option<&'v RawValue>; 5];

const BEFORE: usize = 0;
const AFTER: usize = 1;
const UNKNOWN: usize = 2;
const BEFORE_SENSITIVE: usize = 3;
const AFTER_SENSITIVE: usize = 4;

/// The attributes of a changed resource at `address`, without more bytes than about `most`; `None` if they have more.
pub(super) fn attributes(
    context: &PlanContext,
    (address, change): (&str, &Change),
    most: usize,
) -> Result<Option<Vec<PlannedAttribute>>, Error> {
    let sides = sides_of(change);
    if is_longer(&sides, most) {
        return Ok(None);
    }
    let mut leaves = Leaves {
        context,
        address,
        replacing: replace_paths(change)?,
        left: Some(most),
        attributes: Vec::new(),
    };
    // Early formats have no marks: everything may be a secret then.
    let hides_all = lacks_marks(&sides) || is_sensitive(&sides);
    let ignored = IgnoredPaths::at(&context.ignored, address);
    leaves.walk(sides, &mut Vec::new(), Some(&ignored), hides_all)?;
    Ok(leaves.left.map(|_left| leaves.attributes))
}

/// The value of an output before and after its change; `None` if they have more bytes than `most`.
pub(super) fn output_values(
    context: &PlanContext,
    name: &str,
    change: &Change,
    most: usize,
) -> Result<Option<[Option<PlannedValue>; 2]>, Error> {
    let sides = sides_of(change);
    if is_longer(&sides, most) {
        return Ok(None);
    }
    let mut hidden = lacks_marks(&sides) || hides_attribute(name) || context.hides(name);
    for (marks, value) in sides[BEFORE_SENSITIVE..].iter().zip(&sides[..UNKNOWN]) {
        let marked = marks.map(has_mark).transpose()? == Some(true);
        if let Some(value) = value {
            hidden |= marked || has_secret(context, value, 0)?;
        }
    }
    let place = [b"output".as_slice(), name.as_bytes()];
    let all = IgnoredPaths::default();
    let before = shown(context, (sides[BEFORE], &all), place, hidden)?;
    let after = match sides[UNKNOWN] {
        Some(marks) if has_mark(marks)? => Some(unknown()),
        _ => shown(context, (sides[AFTER], &all), place, hidden)?,
    };
    Ok(Some([before, after]))
}

/// Remembers the values of a change that have a mark, wherever the values are shown.
pub(super) fn note_marked(secrets: &mut Secrets, change: &Change) -> Result<(), Error> {
    let sides = sides_of(change);
    for marks in sides[BEFORE_SENSITIVE..].iter().flatten() {
        for value in sides[..UNKNOWN].iter().flatten() {
            secrets.add_marked(value, marks, 0)?;
        }
    }
    Ok(())
}

/// Whether the values before and after have more bytes than `most`: their parts would need much more memory.
fn is_longer(sides: &Sides<'_>, most: usize) -> bool {
    let values = sides[..UNKNOWN].iter().flatten();
    values.map(|value| value.get().len()).sum::<usize>() > most
}

struct Leaves<'c> {
    context: &'c PlanContext,
    address: &'c str,
    /// Paths whose changes make it necessary to replace the resource.
    replacing: Vec<Vec<PathStep>>,
    /// Bytes that may be kept; `None` once there were more.
    left: Option<usize>,
    attributes: Vec<PlannedAttribute>,
}

fn sides_of(change: &Change) -> Sides<'_> {
    [
        change.before.as_deref(),
        change.after.as_deref(),
        change.after_unknown.as_deref(),
        change.before_sensitive.as_deref(),
        change.after_sensitive.as_deref(),
    ]
}

/// Whether the engine does not tell which values are sensitive.
fn lacks_marks(sides: &Sides<'_>) -> bool {
    let lacks = |value: usize, marks: usize| sides[value].is_some() && sides[marks].is_none();
    lacks(BEFORE, BEFORE_SENSITIVE) || lacks(AFTER, AFTER_SENSITIVE)
}

fn is_sensitive(sides: &Sides<'_>) -> bool {
    sides[BEFORE_SENSITIVE..]
        .iter()
        .flatten()
        .any(|marks| is_true(marks))
}

impl Leaves<'_> {
    /// Adds what is at a path; `ignored` are the parts of it that the effect does not have, `None` for everything.
    fn walk(
        &mut self,
        at: Sides<'_>,
        path: &mut Vec<PathStep>,
        ignored: Option<&IgnoredPaths<'_>>,
        hides_all: bool,
    ) -> Result<(), Error> {
        if self.left.is_none() {
            return Ok(());
        }
        let is_secret = match path.last() {
            // The resource itself has no value of its own.
            None => false,
            Some(PathStep::Key(name)) if hides_attribute(name) => true,
            Some(_step) => hides_all || is_sensitive(&at),
        };
        if is_secret {
            let is_unknown = at[UNKNOWN].map(has_mark).transpose()? == Some(true);
            let values = [at[BEFORE], at[AFTER]];
            return self.add(path, ignored, values, is_unknown, true);
        }
        let mut shapes = [const { None::<Shape<'_>> }; 5];
        for (shape, side) in shapes.iter_mut().zip(at) {
            *shape = side.map(|value| Shape::of(value, path.len())).transpose()?;
        }
        let is_unknown = at[UNKNOWN].is_some_and(is_true);
        if is_unknown {
            shapes[AFTER] = None;
        }
        let [before, after] = [BEFORE, AFTER].map(|side| {
            let is_leaf = shapes[side].as_ref().is_some_and(Shape::is_leaf);
            at[side].filter(|_value| is_leaf)
        });
        // A list or a map seems to be empty if all its members are unknown.
        let has_unknown = (shapes[UNKNOWN].as_ref()).is_some_and(|marks| !marks.is_leaf());
        let after = after.filter(|value| !(has_unknown && value.get().starts_with(['{', '['])));
        let leaves = [before, after];
        self.add(path, ignored, leaves, is_unknown, false)?;
        let mut length = 0;
        let mut keys = BTreeSet::new();
        // Marks alone say nothing, but an unknown value has no other member.
        for shape in shapes[..=UNKNOWN].iter().flatten() {
            match shape {
                Shape::Leaf => {}
                Shape::List(list) => length = length.max(list.len()),
                Shape::Map(map) => keys.extend(map.keys().cloned()),
            }
        }
        for step in (0..length)
            .map(PathStep::Index)
            .chain(keys.into_iter().map(PathStep::Key))
        {
            let inner = shapes.each_ref().map(|shape| child(shape.as_ref()?, &step));
            let below = ignored.and_then(|ignored| ignored.below(&step));
            path.push(step);
            self.walk(inner, path, below.as_ref(), hides_all)?;
            path.pop();
        }
        Ok(())
    }

    /// Adds an attribute, unless nothing is known about it.
    fn add(
        &mut self,
        path: &[PathStep],
        ignored: Option<&IgnoredPaths<'_>>,
        [before, after]: [Option<&RawValue>; 2],
        is_unknown: bool,
        mut hidden: bool,
    ) -> Result<(), Error> {
        if before.is_none() && after.is_none() && !is_unknown {
            return Ok(());
        }
        let context = self.context;
        // An earlier value may be a secret that is no longer known, in the place of one that is.
        for value in [before, after].into_iter().flatten() {
            hidden |= has_secret(context, value, path.len())?;
        }
        let name = path_text(path);
        let place = [self.address.as_bytes(), name.as_bytes()];
        let all = IgnoredPaths::default();
        let compared = ignored.unwrap_or(&all);
        let attribute = PlannedAttribute {
            path: context.shown(&name),
            before: shown(context, (before, compared), place, hidden)?,
            after: if is_unknown {
                Some(unknown())
            } else {
                shown(context, (after, compared), place, hidden)?
            },
            ignored: ignored.is_none(),
            changed: is_unknown || differ(before, after)?,
            forces_replacement: self
                .replacing
                .iter()
                .any(|replacing| replacing.starts_with(path) || path.starts_with(replacing)),
        };
        let values = [&attribute.before, &attribute.after];
        let bytes: usize = values.into_iter().flatten().map(size).sum();
        let left = self
            .left
            .and_then(|left| left.checked_sub(attribute.path.len() + bytes + 16));
        self.left = left;
        if left.is_some() {
            self.attributes.push(attribute);
        }
        Ok(())
    }
}

fn child<'v>(shape: &Shape<'v>, step: &PathStep) -> Option<&'v RawValue> {
    match (shape, step) {
        (Shape::List(list), PathStep::Index(index)) => list.get(*index).copied(),
        (Shape::Map(map), PathStep::Key(key)) => map.get(key).copied(),
        _ => None,
    }
}

fn size(value: &PlannedValue) -> usize {
    match &value.value {
        Some(Shown::Json(text)) => text.len() + 8,
        _ => 24,
    }
}

fn unknown() -> PlannedValue {
    PlannedValue {
        value: Some(Shown::Unknown(true)),
        hash: Vec::new(),
    }
}

/// A value as it is shown; `place` is its place in the plan. The hash of a hidden value is without its ignored parts.
fn shown(
    context: &PlanContext,
    (value, ignored): (Option<&RawValue>, &IgnoredPaths<'_>),
    place: [&[u8]; 2],
    hidden: bool,
) -> Result<Option<PlannedValue>, Error> {
    let Some(value) = value else {
        return Ok(None);
    };
    if !hidden {
        return Ok(Some(PlannedValue {
            value: Some(Shown::Json(leaf_or_whole(value))),
            hash: Vec::new(),
        }));
    }
    let mut bytes = Vec::new();
    encode_except(value, ignored, &mut bytes)?;
    Ok(Some(PlannedValue {
        value: Some(Shown::Hidden(true)),
        hash: context.hash(place, &bytes),
    }))
}

fn leaf_or_whole(value: &RawValue) -> String {
    match Shape::of(value, 0) {
        Ok(Shape::Leaf) => leaf(value).to_owned(),
        _ => value.get().to_owned(),
    }
}

/// Whether two values differ. An attribute that is absent is `null`.
fn differ(before: Option<&RawValue>, after: Option<&RawValue>) -> Result<bool, Error> {
    let encoded = |value: Option<&RawValue>| {
        let mut bytes = Vec::new();
        encode(value.unwrap_or(RawValue::NULL), &mut bytes)?;
        Ok::<_, Error>(bytes)
    };
    Ok(encoded(before)? != encoded(after)?)
}

/// Whether a value has a secret in it, by a name or by its text.
pub(super) fn has_secret(
    context: &PlanContext,
    value: &RawValue,
    depth: usize,
) -> Result<bool, Error> {
    match Shape::of(value, depth)? {
        Shape::Leaf => Ok(match text(value)? {
            Some(text) => context.hides(&text),
            None => context.hides(value.get()),
        }),
        Shape::List(list) => {
            for value in list {
                if has_secret(context, value, depth + 1)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        Shape::Map(map) => {
            for (name, value) in map {
                if hides_attribute(&name)
                    || context.hides(&name)
                    || has_secret(context, value, depth + 1)?
                {
                    return Ok(true);
                }
            }
            Ok(false)
        }
    }
}

/// The paths of `replace_paths`; steps of other kinds end a path.
fn replace_paths(change: &Change) -> Result<Vec<Vec<PathStep>>, Error> {
    let Some(paths) = change.replace_paths.as_deref() else {
        return Ok(Vec::new());
    };
    let paths = Option::<Vec<Vec<Value>>>::deserialize(paths)?;
    let steps = |path: Vec<Value>| {
        let steps = path.into_iter().map_while(|step| match step {
            Value::String(key) => Some(PathStep::Key(key)),
            Value::Number(index) => Some(PathStep::Index(usize::try_from(index.as_u64()?).ok()?)),
            _ => None,
        });
        steps.collect()
    };
    Ok(paths.unwrap_or_default().into_iter().map(steps).collect())
}

/// A path as in `tags["name"]` and `rule[0].port`.
fn path_text(path: &[PathStep]) -> String {
    let mut text = String::new();
    let mut before = None::<&PathStep>;
    for step in path {
        match step {
            PathStep::Index(index) => text.extend(["[", &index.to_string(), "]"]),
            PathStep::Key(key) if is_name(key) && !matches!(before, Some(PathStep::Key(_))) => {
                if before.is_some() {
                    text.push('.');
                }
                text.push_str(key);
            }
            PathStep::Key(key) => text.extend(["[", &Value::from(key.as_str()).to_string(), "]"]),
        }
        before = Some(step);
    }
    text
}

fn is_name(key: &str) -> bool {
    key.starts_with(|c: char| is_xid_start(c) || c == '_')
        && key.chars().all(|c| is_xid_continue(c) || c == '-')
}
