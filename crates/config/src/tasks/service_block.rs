//! `service`, and what the deprecated list `services` of a task stands for
//! (docs/configuration.md#service).

use std::collections::{BTreeMap, HashMap, HashSet};

use cts_core::DeclaredService;

use crate::decode::block::Block;
use crate::decode::coerce;
use crate::report::location::{Located, SourceLocation};
use crate::report::sink::Sink;
use crate::tasks::query::{filter, texts, warn_of_template};

/// The `service` blocks by their ids.
#[derive(Debug, Default)]
pub(crate) struct ServiceBlocks {
    by_id: HashMap<String, ServiceBlock>,
    /// An id for each name that has a block, for advice.
    ids: HashMap<String, String>,
}

#[derive(Debug)]
struct ServiceBlock {
    name: String,
    settings: DeclaredService,
    place: SourceLocation,
}

/// The services that a list of entries stands for.
#[derive(Debug, Default)]
pub(crate) struct ListedServices {
    /// Each once, in the order of the list.
    pub(crate) names: Vec<String>,
    pub(crate) declared: BTreeMap<String, DeclaredService>,
}

impl ServiceBlocks {
    pub(crate) fn decode(blocks: Vec<Block<'_>>, sink: &Sink) -> Self {
        let mut services = Self::default();
        for block in blocks {
            if let Some(place) = block.place() {
                sink.warning(
                    place,
                    "`service` blocks are deprecated: put their settings into a `condition \"services\"` or \
                     `module_input \"services\"` of the tasks",
                );
            }
            services.add(block, sink);
        }
        services
    }

    fn add(&mut self, mut block: Block<'_>, sink: &Sink) {
        block.refuse_label();
        let name = block.required_text("name").map(|name| name.value);
        let id = block.take("id", coerce::text);
        // Shown nowhere, in the original neither.
        block.text("description");
        let settings = DeclaredService {
            datacenter: block.text("datacenter").unwrap_or_default(),
            namespace: block.text("namespace").unwrap_or_default(),
            filter: filter(&mut block).unwrap_or_default(),
            cts_user_defined_meta: texts(&mut block, "cts_user_defined_meta"),
        };
        block.removed("tag", "it was removed in 0.4: use `filter`");
        let place = block.place().cloned();
        block.finish();
        let (Some(name), Some(opened)) = (name, place) else {
            return;
        };
        let (id, place) = match id {
            Some(id) => (id.value, id.place),
            None => (name.clone(), opened),
        };
        if let Some(first) = self.by_id.get(&id) {
            let message = format!("unique service IDs are required, and {id:?} is taken");
            sink.error_after(&first.place, &place, message);
            return;
        }
        self.ids.insert(name.clone(), id.clone());
        let block = ServiceBlock {
            name,
            settings,
            place,
        };
        self.by_id.insert(id, block);
    }

    /// The services that the entries of a list stand for: the block with that id, else the one with that
    /// name. If several entries name one service, the last one counts.
    pub(crate) fn resolve(&self, list: &[Located<String>], sink: &Sink) -> ListedServices {
        let mut listed = ListedServices::default();
        let mut seen = HashSet::new();
        for entry in list {
            if entry.value.is_empty() {
                sink.error(&entry.place, "`services` includes an empty string");
                continue;
            }
            warn_of_template(entry, sink);
            let block = self.by_id.get(&entry.value);
            let name = block.map_or(&entry.value, |block| &block.name);
            if seen.contains(name) {
                let message = format!(
                    "service {name:?} is listed more than once; of the settings of several entries \
                     those of the last one count"
                );
                sink.warning(&entry.place, message);
            } else {
                seen.insert(name.clone());
                listed.names.push(name.clone());
            }
            if let Some(block) = block {
                listed.declared.insert(name.clone(), block.settings.clone());
            } else {
                self.warn_of_name(entry, sink);
                listed.declared.remove(name);
            }
        }
        listed
    }

    /// A block with an id can only be addressed by it (docs/compatibility.md).
    fn warn_of_name(&self, entry: &Located<String>, sink: &Sink) {
        if let Some(id) = self.ids.get(&entry.value) {
            let message = format!(
                "no `service` block has the id {:?}: the service of this name is taken without the settings \
                 of the block with the id {id:?}",
                entry.value
            );
            sink.warning(&entry.place, message);
        }
    }
}
