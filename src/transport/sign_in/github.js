// Says which page of GitHub's sign-in this is. Runs in the page; reads no field's value.
const find = selectors => selectors.map(selector => document.querySelector(selector)).find(element => element);
const shown = element => !!element && element.getClientRects().length > 0;
const user = find(['meta[name="user-login"]']);
if (user && user.content) return { state: 'signed_in' };
const complaint = find(['.flash-error', '#js-flash-container .flash', '[role="alert"].flash']);
const text = shown(complaint) ? complaint.innerText.trim().slice(0, 200) : '';
const code = find(['#app_totp', 'input[name="app_otp"]', 'input[autocomplete="one-time-code"][name*="otp"]']);
if (shown(code)) {
  const device = /verified-device/.test(location.pathname);
  return device ? { state: 'person' } : { state: 'code', field: code, complaint: text };
}
const login = find(['#login_field', 'input[name="login"]']);
const password = find(['#password', 'input[name="password"][type="password"]']);
if (shown(login) && shown(password)) {
  const form = password.form;
  const button = form && ['input[type="submit"][name="commit"]', 'input[type="submit"]', 'button[type="submit"]']
    .map(selector => form.querySelector(selector)).find(element => element);
  return { state: 'form', login, password, button: button || null, complaint: text };
}
const other = find(['a[href*="two-factor/app"]', 'a[href*="two-factor/totp"]']);
if (shown(other)) return { state: 'elsewhere', link: other };
if (/two-factor|verified-device|captcha/.test(location.pathname)) return { state: 'person' };
return { state: document.readyState === 'complete' ? 'unknown' : 'loading' };
