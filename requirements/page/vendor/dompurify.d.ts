export { default } from "dompurify";
