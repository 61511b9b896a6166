// Puts a value into a field as typing does, so that the page notices.
const [field, value] = arguments;
field.focus();
Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(field, value);
field.dispatchEvent(new Event('input', { bubbles: true }));
field.dispatchEvent(new Event('change', { bubbles: true }));
