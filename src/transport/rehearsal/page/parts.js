// What the page is built from: elements, the script that it follows, what it tells the server.

export const script = JSON.parse(document.getElementById("script").textContent);
export const faults = script.faults;
export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
export const newId = () => crypto.randomUUID();

export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(9).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export function tell(name) {
  fetch("/api/event", { method: "POST", body: JSON.stringify({ name }) }).catch(() => {});
}

export async function ask(path, body) {
  return fetch(path, { method: "POST", body: JSON.stringify(body) });
}

// Opens when the pointer goes down, as the menus of real pages do: a click from a script alone opens nothing.
export function menu(button, build) {
  let open = null;
  const close = () => {
    open?.remove();
    open = null;
    button.setAttribute("aria-expanded", "false");
  };
  button.addEventListener("pointerdown", () => {
    if (open) return close();
    open = h("div", { class: "menu", role: "menu" }, build(close));
    document.body.append(open);
    button.setAttribute("aria-expanded", "true");
  });
  document.addEventListener("keydown", (event) => event.key === "Escape" && close());
  document.addEventListener("pointerdown", (event) => open && !open.contains(event.target) && !button.contains(event.target) && close());
}

export function modal(part, words, ...buttons) {
  const shade = h("div", { class: "shade" });
  const box = h("div", { class: "modal", role: "dialog", "aria-modal": "true", "data-part": part }, h("p", {}, words));
  const close = () => {
    shade.remove();
    box.remove();
  };
  for (const [label, name, then] of buttons) {
    box.append(h("button", { type: "button", "data-part": name, onclick: () => {
      close();
      then?.();
    } }, label));
  }
  document.body.append(shade, box);
}
