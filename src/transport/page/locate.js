// One job: tell which entry of the profile matches for every element, for people and for the doctor.
const names = [...new Set([...Object.keys(layout?.elements ?? {}), ...Object.keys(profile.elements)])];
const found = {};
for (const name of names) {
  const entries = selectors(name);
  const at = entries.findIndex((css) => document.querySelector(css) !== null);
  const all = at < 0 ? [] : [...document.querySelectorAll(entries[at])];
  found[name] = { entry: at < 0 ? null : at, count: all.length, visible: all.filter(isVisible).length };
}
const marks = profile.layouts.map(({ name, when }) => ({ name, when, count: document.querySelectorAll(when).length }));
return { layout: layout?.name ?? null, marks, url: location.href, title: document.title, found };
